// The facts about a thread apart from its records. Plain values; any thread.
#pragma once

#include <optional>
#include <string>

namespace arborfs::codex {

struct ThreadFacts {
  std::optional<std::string> name;  // given by the user
  std::string parent;               // the thread that started it as a sub-agent, "" for none
  [[nodiscard]] bool is_empty() const { return !name && parent.empty(); }
};

}  // namespace arborfs::codex
