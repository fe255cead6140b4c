// The names of Codex's files (codex/FORMAT.md A2). Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace arborfs::codex {

struct RolloutName {
  std::string thread;          // a UUID
  std::string segment;         // that of the thread's first segment is `thread`
  std::string time;            // local, "2026-11-21T20-56-02"
  bool is_compressed = false;  // .jsonl.zst

  /// The segments of a thread in the order in which they were begun.
  [[nodiscard]] bool comes_before(const RolloutName& other) const {
    const bool is_later = segment != thread;
    const bool is_other_later = other.segment != other.thread;
    return std::tie(is_later, time, segment) < std::tie(is_other_later, other.time, other.segment);
  }
};

/// Nothing for the name of another file.
std::optional<RolloutName> parse_rollout_name(std::string_view file_name);

}  // namespace arborfs::codex
