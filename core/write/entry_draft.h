// An entry that is about to be appended: what the agents' persistence makes of it (omp/FORMAT.md H), all but its id,
// its parent and its time, which are chosen under the log's lock. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/json/document.h"
#include "core/log/log_index.h"
#include "core/write/persist.h"

namespace arborfs {

/// Chosen when the entry is written.
struct EntryStamp {
  std::string id;
  std::string parent_json;  // JSON text of the parent's id, "null" for a root
  std::int64_t timestamp_ms = 0;
};

struct EntryDraft {
  EntryType type = EntryType::none;
  bool is_assistant = false;  // a message with that role: from here on a deferred session is written (omp/FORMAT.md G1)
  bool from_is_parent = false;  // a branch_summary that names no fromId: it is the parent, or "root" (omp/FORMAT.md H7)
  std::string before;           // the line up to where id, parentId and timestamp stand; opens with {
  std::string after;            // the rest, closing brace included, no line feed
  std::vector<PendingBlob> blobs;

  /// The line with its line feed. Bytes are what the agent of that dialect would have written (omp/FORMAT.md H5).
  [[nodiscard]] std::string line(const EntryStamp& stamp) const;
  /// The same behind what `out` holds.
  void add_line(const EntryStamp& stamp, std::string& out) const;
};

/// Makes a draft of an object that has `type` and the entry's own fields. id, parentId and timestamp in it are passed
/// over. Fields come out in the order of omp/FORMAT.md H5, unknown ones behind them as given. Defaults as the agents'
/// own append functions have them (attribution "agent", model_change role, ...). Checks nothing but that `type` is an
/// entry type that is known for this dialect; see append_command.h for what people may append.
/// Errors: invalid_argument.
Result<EntryDraft> make_draft(const json::Value& entry, Dialect dialect);
/// The same without a copy: uses up `entry`, which was made in `owner`. The draft has about `bytes` bytes.
Result<EntryDraft> make_draft(json::Value&& entry, json::Document& owner, Dialect dialect, std::size_t bytes = 0);

}  // namespace arborfs
