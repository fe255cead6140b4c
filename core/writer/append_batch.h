// The lines that one append brings to a log: ids, parents and times chosen for drafts, one behind the other
// (omp/FORMAT.md F1, H5). Made under the log's lock from the state of the log then; one object is used by one thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/log/log_index.h"
#include "core/write/entry_draft.h"

namespace arborfs {

/// An id as people and results have it: its text, "" for none.
inline const std::string& id_text(const EntryId& id) {
  return id.text;
}

class AppendBatch {
 public:
  /// `index` outlives it; `leaf` is where the first line hangs.
  AppendBatch(const LogIndex& index, Ordinal leaf, std::int64_t now_ms)
      : index_(index), leaf_(leaf == kNoEntry ? EntryId{} : index.id(leaf)), now_ms_(now_ms) {}

  [[nodiscard]] const LogIndex& index() const { return index_; }
  /// The id of the entry that the next line becomes a child of.
  [[nodiscard]] const EntryId& leaf() const { return leaf_; }
  /// The next line hangs there instead.
  void set_leaf(EntryId leaf) { leaf_ = std::move(leaf); }
  /// Adds the draft's line and makes it the leaf; its id.
  std::string add(const EntryDraft& draft);

  [[nodiscard]] const std::string& lines() const { return lines_; }
  [[nodiscard]] std::string take_lines() { return std::move(lines_); }
  /// So many bytes will be added.
  void expect(std::size_t bytes) { lines_.reserve(lines_.size() + bytes); }
  /// Where a part of it began, to take that part back.
  struct Mark {
    std::size_t size = 0;
    EntryId leaf;
  };
  [[nodiscard]] Mark mark() const { return {lines_.size(), leaf_}; }
  void take_back(const Mark& mark) {
    lines_.resize(mark.size);
    leaf_ = mark.leaf;
  }

 private:
  const LogIndex& index_;
  EntryId leaf_;
  const std::int64_t now_ms_;
  std::set<std::string> new_ids_;
  std::string lines_;
};

}  // namespace arborfs
