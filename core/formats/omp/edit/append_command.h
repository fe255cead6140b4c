// The commands that users write to `append`: text, a message, entries (CONTRACT.md 4.1, 4.2). Turns them into drafts,
// and refuses entries with which an agent could not open the log again (omp/FORMAT.md A18). Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/formats/omp/edit/entry_draft.h"
#include "core/json/document.h"
#include "core/write/writer.h"

namespace arborfs::omp {

inline constexpr std::size_t kMaxCommandObjects = 100'000;
/// Bound for memory_for_json().
inline constexpr std::uint64_t kMaxCommandMemory = 96 << 20;

/// One append, all or nothing.
struct AppendCommand {
  std::vector<EntryDraft> drafts;      // in order; at least one
  std::optional<std::string> if_leaf;  // "ifLeaf": the leaf must be this entry (its id, or "root")
  bool force = false;                  // "force": write although the session may be live
  std::optional<Dialect> dialect;      // of the log that it is for; `stale` if the log has another one by then
  std::string_view verb = "append";    // as Command::verb
};

/// A user message of this text; one line feed at its end is dropped.
/// Errors: invalid_argument (empty), not_utf8, too_large.
Result<AppendCommand> text_command(std::string_view text, Dialect dialect, std::int64_t now_ms);

/// JSON objects, one after another: messages (they have `role` and no `type`) or entries (they have `type`). "force"
/// and "ifLeaf" may be at the top level of any of them and do not reach the log.
/// Errors: invalid_argument with the reason and the number of the object, not_utf8, too_large.
Result<AppendCommand> json_command(std::string text, Dialect dialect, std::int64_t now_ms);

/// About how much memory json_command() and its result take besides the text.
std::uint64_t memory_for_json(std::string_view text);

}  // namespace arborfs::omp
