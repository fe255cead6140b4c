// An entry that is about to be appended, as the agents' persistence writes it (omp/FORMAT.md H), but without its id,
// parent and time, which are chosen under the log's lock. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/formats/omp/edit/persist.h"
#include "core/formats/omp/log/dialect.h"
#include "core/json/document.h"
#include "core/log/log_index.h"

namespace arborfs::omp {

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
  std::optional<std::int64_t> time_ms = std::nullopt;  // if not that at which it is written

  /// The line with its line feed, byte for byte as the agent of that dialect would write it (omp/FORMAT.md H5).
  [[nodiscard]] std::string line(const EntryStamp& stamp) const;
  /// Appends the same to `out`.
  void add_line(const EntryStamp& stamp, std::string& out) const;
};

/// Makes a draft of an object that has `type` and the entry's own fields. Ignores its id, parentId and timestamp.
/// Fields are written in the order of omp/FORMAT.md H5, or pi/FORMAT.md C2, unknown ones after them in the given order.
/// Defaults are those of the agents' own append functions (attribution "agent", model_change role, ...). Checks only
/// that `type` is a known entry type of this dialect. Errors: invalid_argument.
Result<EntryDraft> make_draft(const json::Value& entry, Dialect dialect);
/// The same without a copy: consumes `entry`, which was made in `owner`. The draft has about `bytes` bytes.
Result<EntryDraft> make_draft(json::Value&& entry, json::Document& owner, Dialect dialect, std::size_t bytes = 0);

/// Checks a message that a user appends, and adds the members that users may omit: its time, an assistant's usage.
/// Errors: invalid_argument, which names the missing member and never any content.
Result<void> complete_message(json::Value& message, json::Document& owner, Dialect dialect, std::int64_t now_ms);
/// The same for an entry, which has `type`.
Result<void> complete_entry(json::Value& entry, json::Document& owner, Dialect dialect, std::int64_t now_ms);

// The lines that one append adds to a log, each a child of the previous one, with ids, parents and times filled in
// (omp/FORMAT.md F1, H5). For an append it is built under the log's lock, from the log's state at that moment. One
// object is used by one thread.

/// The text of an id, as results and messages show it; "" for none.
inline const std::string& id_text(const EntryId& id) {
  return id.text;
}

class AppendBatch {
 public:
  /// `index` must outlive this object. The first line becomes a child of `leaf`.
  AppendBatch(const LogIndex& index, Ordinal leaf, std::int64_t now_ms)
      : index_(index), leaf_(leaf == kNoEntry ? EntryId{} : index.id(leaf)), now_ms_(now_ms) {}

  [[nodiscard]] const LogIndex& index() const { return index_; }
  /// The id of the entry whose child the next line becomes.
  [[nodiscard]] const EntryId& leaf() const { return leaf_; }
  /// Makes the next line a child of `leaf`.
  void set_leaf(EntryId leaf) { left_ = std::exchange(leaf_, std::move(leaf)); }
  /// Adds the draft's line and makes it the leaf. Returns its id.
  std::string add(const EntryDraft& draft);

  [[nodiscard]] const std::string& lines() const { return lines_; }
  [[nodiscard]] std::string take_lines() { return std::exchange(lines_, {}); }
  /// Reserves room for `bytes` more.
  void expect(std::size_t bytes) { lines_.reserve(lines_.size() + bytes); }
  /// A position in the batch that take_back() returns to.
  struct Mark {
    std::size_t size = 0;
    EntryId leaf;
  };
  [[nodiscard]] Mark mark() const { return {lines_.size(), leaf_}; }
  void take_back(const Mark& mark) {
    lines_.resize(mark.size);
    leaf_ = mark.leaf;
    left_.reset();
  }

 private:
  const LogIndex& index_;
  EntryId leaf_;
  std::optional<EntryId> left_;  // the leaf before set_leaf()
  const std::int64_t now_ms_;
  std::set<std::string> new_ids_;
  std::string lines_;
};

/// Builds an entry that arborfs itself writes, member by member. Used by one thread.
class EntryFields {
 public:
  explicit EntryFields(std::string_view type) {
    document_.SetObject();
    text("type", type);
  }
  EntryFields& text(std::string_view key, std::string_view value) {
    json::set(document_, key, json::make_string(value, document_), document_);
    return *this;
  }
  EntryFields& value(std::string_view key, std::string_view json_text) {
    json::Document parsed;
    json::parse(json_text, parsed);
    json::set(document_, key, json::copy(parsed, document_), document_);
    return *this;
  }
  [[nodiscard]] Result<EntryDraft> draft(Dialect dialect) const { return make_draft(document_, dialect); }

 private:
  json::Document document_;
};

}  // namespace arborfs::omp
