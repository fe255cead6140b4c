#include "core/manager/line_batch.h"

#include "core/json/document.h"
#include "core/write/ids.h"

namespace arborfs {

std::string parent_json(const EntryId& id) {
  switch (id.kind) {
    case EntryId::Kind::missing:
      return "null";
    case EntryId::Kind::string:
      return json::stringify_string(id.text);
    case EntryId::Kind::other:
      break;
  }
  return id.text;
}

std::string LineBatch::add(const EntryDraft& draft) {
  EntryStamp stamp;
  stamp.id = new_entry_id(
      [&](std::string_view id) { return index_.find(id) != kNoEntry || new_ids_.contains(std::string(id)); });
  stamp.parent_json = parent_json(leaf_);
  stamp.timestamp_ms = now_ms_;
  lines_ += draft.line(stamp);
  new_ids_.insert(stamp.id);
  leaf_ = EntryId{EntryId::Kind::string, stamp.id};
  return stamp.id;
}

}  // namespace arborfs
