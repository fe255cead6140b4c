// Generates an agent dir full of sessions: projects, logs of both generations, blobs, artifacts, breadcrumbs.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"

namespace arborfs::generate {

struct StorePlan {
  std::string agent_dir;
  std::uint64_t sessions = 0;
  std::uint64_t projects = 1;
  std::uint64_t seed = 0;
  double median_kb = 120;  // of a log; sizes are distributed log-normally
  double sigma = 1.6;
  double max_mb = 32;
  double v18 = 0;  // the fraction of logs that the newer generation wrote
};

struct StoreMade {
  std::uint64_t sessions = 0;
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
};

Result<StoreMade> write_store(const StorePlan& plan);

}  // namespace arborfs::generate
