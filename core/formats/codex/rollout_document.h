// A rollout of the oldest kind: one JSON object, indented over many lines (codex/FORMAT.md B6). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/log/log_source.h"

namespace arborfs::codex {

/// True if the file begins as such an object, whose first line is no record. Errors: io, stale.
Result<bool> is_document(const LogSource& file);

struct RolloutDocument {
  struct Item {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  std::string text;         // of the file, with json::Places::kPadding bytes more
  std::vector<Item> items;  // those of `items`, as places in the text
};

/// The first `length` bytes of the file; nothing if they are not such an object, or too long to be read at once.
/// Errors: io, stale.
Result<std::optional<RolloutDocument>> read_document(const LogSource& file, std::uint64_t length);

/// The text of the member `session` in the first bytes of such a file; "" if it is not there.
std::string session_in(std::string_view start);

}  // namespace arborfs::codex
