#include "core/formats/opal/write/segment.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/model/tree.h"
#include "core/writer/resolve_target.h"

namespace arborfs::opal {
namespace {

LineEdit edit_of(const LogIndex& index, Ordinal ordinal, LineEdit::What what) {
  return {what, index.entry(ordinal).offset, index.length(ordinal)};
}

}  // namespace

Result<Run> find_run(const LogIndex& index, const std::string& first, const std::string& last) {
  ASSIGN_OR_RETURN(const auto begin, find_target(index, first));
  ASSIGN_OR_RETURN(const auto end, find_target(index, last));
  const auto path = path_to(index, index.leaf());
  const auto from = std::find(path.begin(), path.end(), begin);
  if (from == path.end() || std::find(from, path.end(), end) == path.end()) {
    return Error{Errc::invalid_argument,
                 "the messages to replace must be on the path to the leaf, the first one before the last one"};
  }
  return Run{begin, end};
}

SegmentChange replace_segment(const LogIndex& index, const Run& run) {
  SegmentChange change;
  std::vector<bool> is_removed(index.size() + 1);
  const auto path = path_to(index, index.leaf());
  const auto begin = std::find(path.begin(), path.end(), run.first);
  const auto end = std::find(begin, path.end(), run.last);
  for (auto at = begin; at != path.end(); ++at) {
    is_removed[*at] = true;
    change.edits.push_back(edit_of(index, *at, LineEdit::What::removed));
    change.removed.push_back(index.id(*at).text);
    if (at == end) {
      break;
    }
  }
  const EntryId parent = index.parent_id(run.first);
  change.parent = parent.kind == EntryId::Kind::string ? parent.text : "";
  change.moves_leaf = is_removed[index.leaf()];
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    if (!is_removed[ordinal] && index.parent(ordinal) == run.last) {
      change.edits.push_back(edit_of(index, ordinal, LineEdit::What::relinked));
    }
  }
  for (const Damage& run_of_bytes : index.damage()) {
    if (run_of_bytes.is_replaced()) {
      change.edits.push_back({LineEdit::What::removed_if_dead, run_of_bytes.offset, run_of_bytes.length});
    }
  }
  std::sort(change.edits.begin(), change.edits.end(),
            [](const LineEdit& a, const LineEdit& b) { return a.offset < b.offset; });
  return change;
}

}  // namespace arborfs::opal
