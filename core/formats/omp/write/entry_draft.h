// An entry that is about to be appended, as the agents' persistence writes it (omp/FORMAT.md H), but without its id,
// parent and time, which are chosen under the log's lock. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/write/persist.h"
#include "core/json/document.h"
#include "core/log/log_index.h"

namespace arborfs {

/// Chosen when the entry is written.
struct EntryStamp {
  std::string id;
  std::string parent_json;  // JSON text of the parent's id, "null" for a root
  std::int64_t timestamp_ms = 0;
  std::string left_json = {};  // of the leaf that was left for the parent, as parent_json; "" if none was
};

/// The fromId of a branch_summary if it was not given; "root" if that is not an entry.
enum class FromId : std::uint8_t {
  given,
  parent,  // omp/FORMAT.md H7
  left,    // the leaf that was left (pi/FORMAT.md C9)
};

struct EntryDraft {
  EntryType type = EntryType::none;
  bool is_assistant = false;  // a message with this role, which ends a session's deferral (omp/FORMAT.md G1)
  FromId from = FromId::given;
  std::string before;  // the line up to id, parentId and timestamp; begins with {
  std::string after;   // the rest with the closing brace, without line feed
  std::vector<PendingBlob> blobs;

  /// The line with its line feed, byte for byte as the agent of that dialect would write it (omp/FORMAT.md H5).
  [[nodiscard]] std::string line(const EntryStamp& stamp) const;
  /// Appends the same to `out`.
  void add_line(const EntryStamp& stamp, std::string& out) const;
};

/// Makes a draft of an object that has `type` and the entry's own fields. Ignores its id, parentId and timestamp.
/// Fields are written in the order of omp/FORMAT.md H5, or pi/FORMAT.md C2, unknown ones after them in the given order.
/// Defaults are those of the agents' own append functions (attribution "agent", model_change role, ...). Checks only
/// that `type` is a known entry type of this dialect; see append_command.h for what users may append. Errors:
/// invalid_argument.
Result<EntryDraft> make_draft(const json::Value& entry, Dialect dialect);
/// The same without a copy: consumes `entry`, which was made in `owner`. The draft has about `bytes` bytes.
Result<EntryDraft> make_draft(json::Value&& entry, json::Document& owner, Dialect dialect, std::size_t bytes = 0);

}  // namespace arborfs
