#include "core/formats/omp/writer/append_batch.h"

#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/write/ids.h"
#include "core/log/log_index.h"

namespace arborfs {

std::string AppendBatch::add(const EntryDraft& draft) {
  EntryStamp stamp;
  stamp.id = new_entry_id(
      [&](std::string_view id) { return index_.find(id) != kNoEntry || new_ids_.contains(std::string(id)); },
      dialect_of(index_));
  stamp.parent_json = id_json(leaf_);
  stamp.left_json = left_ ? id_json(*left_) : "";
  stamp.timestamp_ms = now_ms_;
  draft.add_line(stamp, lines_);
  new_ids_.insert(stamp.id);
  leaf_ = EntryId{EntryId::Kind::string, stamp.id};
  left_.reset();
  return stamp.id;
}

}  // namespace arborfs
