// The labels in effect, in the order of a JavaScript Map: setting a label again keeps its place; deleting and setting
// it moves it to the end (omp/FORMAT.md C6, C7). Not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/log/log_index.h"
#include "core/log/record_fields.h"

namespace arborfs {

class LabelMap {
 public:
  /// Applies a label entry.
  void take(const RecordFields& record, Ordinal ordinal);
  /// Closes the gaps that deletions left. Call it after take() and before labels().
  void settle();
  [[nodiscard]] const std::vector<Label>& labels() const { return labels_; }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  std::vector<Label> labels_;  // set_by is kNoEntry for labels deleted since settle()
  std::unordered_map<std::string, std::size_t> places_;
  std::size_t gaps_ = 0;
};

}  // namespace arborfs
