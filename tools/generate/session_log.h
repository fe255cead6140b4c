// Generates one session log with the mix of real ones: turns of prompts, thinking, tool calls and results, with
// branches, labels, compactions, changes of model and mode, images.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/error.h"

namespace arborfs::generate {

struct SessionPlan {
  std::uint64_t bytes = 0;  // the log ends after the first turn beyond this size
  std::uint64_t seed = 0;
  std::int64_t start_ms = 0;
  std::string cwd;
  bool v18 = false;
  std::optional<std::uint64_t> branches;  // if not set, a number by seed
  std::string blobs;                      // folder for images; "" for small inline ones only
};

struct SessionMade {
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
  std::int64_t end_ms = 0;
};

inline constexpr std::int64_t kFirstStartMs = 1'767'600'000'000;  // 2026-01-05T08:00:00Z

/// The id of the session that a plan makes, and the name of its log.
std::string session_id(const SessionPlan& plan);
std::string log_name(const SessionPlan& plan);

Result<SessionMade> write_session(const std::string& path, const SessionPlan& plan);

}  // namespace arborfs::generate
