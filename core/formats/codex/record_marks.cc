#include "core/formats/codex/record_marks.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/formats/codex/rollout_record.h"
#include "core/formats/codex/segment_opener.h"
#include "core/log/line_pipeline.h"

namespace arborfs::codex {
namespace {

Result<void> add_marks(const LogSource& segment, RecordMarks& marks) {
  ASSIGN_OR_RETURN(const auto size, segment.size());
  LinePipeline<RolloutLines> stretches(segment, 0, size, nullptr);
  for (;;) {
    ASSIGN_OR_RETURN(const auto* stretch, stretches.next());
    if (stretch == nullptr) {
      return {};
    }
    for (const RolloutLines::Line& line : stretch->lines) {
      if (line.record && line.record->mark != 0) {
        marks.insert(line.record->mark);
      }
    }
  }
}

Result<RecordMarksPtr> read_marks(const std::string& home, const std::vector<SegmentFile>& segments) {
  SegmentOpener opener(home, SegmentOpener::Use::once);
  auto marks = std::make_shared<RecordMarks>();
  for (const SegmentFile& segment : segments) {
    ASSIGN_OR_RETURN(const auto log, opener.open(segment));
    RETURN_IF_ERROR(add_marks(*log, *marks));
  }
  return RecordMarksPtr(std::move(marks));
}

/// Nothing if a file is gone.
std::string state_of(const std::string& home, const std::vector<SegmentFile>& segments) {
  std::string state;
  for (const SegmentFile& segment : segments) {
    const auto dir = open_below(home, segment.folder);
    const auto now = dir ? dir->stat(segment.file) : Result<FileStat>(dir.error());
    if (!now) {
      return "";
    }
    state += segment.file + ' ' + std::to_string(now->ino) + ' ' + std::to_string(now->size) + ' ' +
             std::to_string(now->mtime_ns) + '\n';
  }
  return state;
}

}  // namespace

RecordMarksPtr MarkCache::of(const std::string& home, const std::vector<SegmentFile>& segments) {
  const std::string state = state_of(home, segments);
  const std::lock_guard lock(mutex_);  // one thread reads, the children of the same thread wait for it
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const auto& each) { return each.first == state; });
  if (known != known_.end()) {
    known_.splice(known_.begin(), known_, known);
    return known_.front().second;
  }
  const auto marks = state.empty() ? Result<RecordMarksPtr>(nullptr) : read_marks(home, segments);
  if (!marks || *marks == nullptr) {
    return nullptr;
  }
  known_.emplace_front(state, *marks);
  known_.resize(std::min(known_.size(), kMost));
  return *marks;
}

}  // namespace arborfs::codex
