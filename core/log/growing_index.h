// The index of a log whose reader is a GrowingReader. Not thread-safe, as LogIndex.
#pragma once

#include <memory>
#include <vector>

#include "core/log/growing_reader.h"
#include "core/log/log_index.h"

namespace arborfs {

struct GrowingIndexState;

class GrowingIndex final : public LogIndex {
 public:
  /// `reader` outlives the index. Errors: as LogReader::index.
  static Result<std::unique_ptr<LogIndex>> build(const GrowingReader& reader, const LogSource& log,
                                                 const IndexOptions& options);

  /// Null if known bytes changed, if the last line was an entry although no line feed ended it, or if a new id is a
  /// duplicate or the missing parent of an earlier entry.
  [[nodiscard]] Result<GrowthPtr> read_growth(const LogSource& log) const override;
  [[nodiscard]] std::vector<Entry> new_entries(const Growth& growth) const override;
  void apply(GrowthPtr growth) override;
  [[nodiscard]] bool only_grows() const override { return true; }

 private:
  explicit GrowingIndex(std::unique_ptr<GrowingIndexState> state);
  [[nodiscard]] const GrowingIndexState& own() const;
};

}  // namespace arborfs
