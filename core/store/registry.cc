// The list of formats. A new one is a folder or file pair here and a row below.
#include <array>

#include "core/store/agent_dir.h"
#include "core/store/omp_store.h"
#include "core/store/session_store.h"

namespace arborfs {

namespace {

struct Opener {
  /// Null if the agent dir is not of this format; the last row accepts any.
  std::shared_ptr<SessionStore> (*open)(const StorePaths& paths, Disk& disk);
};

constexpr std::array kFormats = {
    Opener{[](const StorePaths& paths, Disk& disk) { return make_omp_store(paths, disk); }},
};

}  // namespace

std::shared_ptr<SessionStore> open_store(const std::string& agent_dir, Disk& disk) {
  const StorePaths paths = locate_agent_dir(agent_dir);
  if (agent_dir.empty() && is_default_pis()) {
    return make_omp_store(paths, disk, pi_format());
  }
  for (const auto& format : kFormats) {
    if (auto store = format.open(paths, disk)) {
      return store;
    }
  }
  return nullptr;
}

}  // namespace arborfs
