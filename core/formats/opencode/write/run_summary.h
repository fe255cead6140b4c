// The text of a summary of a run (opencode/FORMAT.md G6). Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace arborfs::opencode {

/// The facts about a run from the messages of its sessions.
class RunFacts {
 public:
  void add(const std::string& session, std::string_view message);
  /// The text from the known facts: how long the run took, its sessions and its tokens.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::string> sessions_;
  double first_ms_ = 0;
  double last_ms_ = 0;
  double input_ = 0;
  double output_ = 0;
};

}  // namespace arborfs::opencode
