// The names of Codex's files (codex/FORMAT.md A2). Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace arborfs::codex {

struct RolloutName {
  std::string thread;          // a UUID, of a document perhaps without its dashes
  std::string segment;         // that of the thread's first segment is `thread`
  std::string time;            // local, "2026-11-21T20-56-02"; of a document the day
  bool is_compressed = false;  // .jsonl.zst
  bool is_document = false;    // .json: one object, which the first Codex wrote (rollout_document.h)

  /// The segments of a thread in the order in which they were begun. Files of its first segment are equal.
  [[nodiscard]] bool comes_before(const RolloutName& other) const {
    const bool is_first = segment == thread;
    const bool is_other_first = other.segment == other.thread;
    return is_first || is_other_first ? is_first && !is_other_first
                                      : std::tie(time, segment) < std::tie(other.time, other.segment);
  }
};

/// Nothing for the name of another file.
std::optional<RolloutName> parse_rollout_name(std::string_view file_name);

}  // namespace arborfs::codex
