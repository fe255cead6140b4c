#include "core/log/entry_types.h"

#include <array>
#include <cstddef>

namespace arborfs {

namespace {

// In the order of EntryType.
constexpr std::array<std::string_view, 24> kWords = {
    "",
    "message",
    "compaction",
    "branch_summary",
    "custom_message",
    "custom",
    "label",
    "model_change",
    "thinking_level_change",
    "service_tier_change",
    "mode_change",
    "ttsr_injection",
    "mcp_tool_selection",
    "session_init",
    "title_change",
    "model_usage",
    "credential_pin",
    "reset_boundary",
    "session_info",
    "context_edit",
    "usage",
    "session",
    "inherited_usage",
    "",
};
static_assert(kWords.size() == static_cast<std::size_t>(EntryType::other) + 1);

}  // namespace

EntryType entry_type_of(std::string_view word) {
  for (std::size_t i = 1; i + 1 < kWords.size(); ++i) {
    if (kWords[i] == word) {
      return static_cast<EntryType>(i);
    }
  }
  return EntryType::other;
}

std::string_view entry_type_word(EntryType type) {
  return kWords[static_cast<std::size_t>(type)];
}

}  // namespace arborfs
