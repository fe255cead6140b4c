// The lines that one append adds to a log, each a child of the previous one, with ids, parents and times filled in
// (omp/FORMAT.md F1, H5). For an append it is built under the log's lock, from the log's state at that moment. One
// object is used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/omp/write/entry_draft.h"
#include "core/log/log_index.h"

namespace arborfs {

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
  [[nodiscard]] std::string take_lines() { return std::move(lines_); }
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

}  // namespace arborfs
