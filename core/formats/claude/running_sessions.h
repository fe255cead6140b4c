// Finds the sessions that running programs of Claude Code have loaded (claude/FORMAT.md A5). Any thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/store/live_signs.h"

namespace arborfs::claude {

class RunningSessions final : public LiveSigns {
 public:
  /// Reads `sessions` in Claude Code's folder, once.
  explicit RunningSessions(const std::string& config_dir);

  [[nodiscard]] std::vector<std::string> of(const LogPlace& place) const override;
  [[nodiscard]] bool tell_all_of(long pid) const override { return pids_.contains(pid); }

 private:
  std::multimap<std::string, long, std::less<>> by_session_;
  std::set<long> pids_;
};

}  // namespace arborfs::claude
