// What a line of a segment means for the tree (codex/FORMAT.md B). Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace arborfs::codex {

struct RolloutRecord {
  enum class Kind : std::uint8_t {
    entry,
    rollback,  // drops the last `turns` turns of the user
    aside,     // of no interest for the tree
  };
  Kind kind = Kind::aside;
  std::optional<std::uint64_t> ordinal;
  std::optional<std::string> id;
  std::string timestamp;
  std::string type;          // of the entry, in arborfs's words: message, compaction, or Codex's
  std::string role;          // of a message: the word for its file name
  bool begins_turn = false;  // what the user typed
  bool is_legacy_usage = false;
  std::string total_usage;  // of is_legacy_usage: the text of the running sums
  std::uint64_t turns = 0;
};

/// Nothing if the line is no record.
std::optional<RolloutRecord> parse_rollout_record(std::string_view line);

}  // namespace arborfs::codex
