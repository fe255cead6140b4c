#include "core/formats/codex/segments_log.h"

#include <algorithm>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/words.h"
#include "core/formats/codex/record.h"
#include "core/formats/codex/rollout_record.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/log/line_reader.h"
#include "core/log/log_file.h"
#include "core/log/zstd_log.h"

namespace arborfs::codex {
namespace {

Result<void> add_marks(const LogSource& segment, RecordMarks& marks) {
  ASSIGN_OR_RETURN(const auto size, segment.size());
  LinePipeline<RolloutLines> stretches(segment, 0, size, {});
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

Result<RecordMarksPtr> read_marks(const std::string& home, const std::vector<SegmentFile>& segments,
                                  const LogFilter* filter) {
  SegmentOpener opener(home, SegmentOpener::Use::once);
  auto marks = std::make_shared<RecordMarks>();
  for (const SegmentFile& segment : segments) {
    ASSIGN_OR_RETURN(auto log, opener.open(segment));
    log = filter == nullptr ? std::move(log) : filter->file(std::move(log), UINT64_MAX);
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

/// The base in the session_meta of a segment; nothing if there is none.
std::optional<HistoryBase> base_in(std::string_view meta) {
  const std::string_view given = skim::member(meta, "history_base");
  auto segment = skim::string_value(skim::member(given, "thread_id"));
  if (!segment) {
    return std::nullopt;
  }
  return HistoryBase{*std::move(segment), count_of(skim::member(given, "end_ordinal_exclusive")).value_or(UINT64_MAX),
                     count_of(skim::member(given, "end_byte_offset")).value_or(UINT64_MAX)};
}

/// "" unless the line is a session_meta.
std::string_view meta_in(std::string_view line) {
  const bool is_meta = is_object(line) && skim::is_string(skim::member(line, "type"), "session_meta");
  return is_meta ? skim::member(line, "payload") : std::string_view();
}

}  // namespace

std::string starter_in(std::string_view meta) {
  const std::string_view sub_agent = skim::member(skim::member(meta, "source"), "subagent");
  return skim::text_member(skim::member(sub_agent, "thread_spawn"), "parent_thread_id");
}

Result<SegmentHead> read_head(const LogSource& file) {
  ASSIGN_OR_RETURN(const auto size, file.size());
  LineReader lines(file, std::min(size, kLongestHead), {});
  ASSIGN_OR_RETURN(const auto* line, lines.next());
  SegmentHead head;
  head.is_settled = size >= kLongestHead;
  if (line == nullptr || line->is_too_long) {
    return head;
  }
  if (stripped(line->text) == "{") {
    return head;  // a document, which is rewritten as a whole
  }
  const std::string_view meta = meta_in(line->text);
  head.base = base_in(meta);
  head.kind = meta.empty()                                    ? RolloutKind::none
              : count_of(skim::member(line->text, "ordinal")) ? RolloutKind::paginated
                                                              : RolloutKind::legacy;
  Relatives& relatives = head.relatives;
  relatives.started_by = starter_in(meta);
  relatives.forked_from = skim::text_member(meta, "forked_from_id");
  const std::string own = skim::text_member(meta, "id");
  const bool is_ended = line->is_ended;
  ASSIGN_OR_RETURN(const auto* second, lines.next());
  const bool has_second = second != nullptr && second->is_ended;
  if (has_second && !second->is_too_long) {
    const std::string other = skim::text_member(meta_in(second->text), "id");
    relatives.copied_from = other == own ? "" : other;
  }
  const bool may_have_copies = !relatives.started_by.empty() || !relatives.forked_from.empty();
  head.is_settled = head.is_settled || (is_ended && (has_second || !may_have_copies));
  return head;
}

SegmentsLog::SegmentsLog(std::vector<Segment> segments, ThreadFacts facts, const FileStat& opened, std::string thread,
                         ReadMarks source_marks)
    : LogSource(opened),
      segments_(std::move(segments)),
      facts_(std::move(facts)),
      thread_(std::move(thread)),
      source_marks_(std::move(source_marks)) {
  std::uint64_t start = 0;
  for (Segment& segment : segments_) {
    segment.start = start;
    start += segment.length;
  }
}

Result<std::uint64_t> SegmentsLog::size() const {
  ASSIGN_OR_RETURN(const auto last, segments_.back().file->size());
  return segments_.back().start + last;
}

Result<std::uint64_t> SegmentsLog::rough_size() const {
  ASSIGN_OR_RETURN(const auto last, segments_.back().file->rough_size());
  return segments_.back().start + last;
}

Result<std::shared_ptr<const LogSource>> SegmentsLog::beginning(std::uint64_t bytes) const {
  return filter_ == nullptr ? LogSource::beginning(bytes) : segments_.front().file->beginning(bytes);
}

Result<std::shared_ptr<const LogSource>> SegmentsLog::through(const std::shared_ptr<const LogSource>& self,
                                                              const LogFilter& filter) const {
  std::vector<Segment> segments = segments_;
  for (Segment& segment : segments) {
    const bool is_last = &segment == &segments.back();
    segment.file = filter.file(std::move(segment.file), segment.is_own ? UINT64_MAX : segment.length);
    ASSIGN_OR_RETURN(segment.length, is_last ? segment.file->rough_size() : segment.file->size());
  }
  ThreadFacts facts = facts_;
  facts.name = facts.name ? std::optional(filter.text(*facts.name)) : std::nullopt;
  auto shown = std::make_shared<SegmentsLog>(std::move(segments), std::move(facts), opened(), thread_, source_marks_);
  shown->as_it_is_ = self;
  shown->filter_ = &filter;
  return std::shared_ptr<const LogSource>(std::move(shown));
}

Result<bool> SegmentsLog::grows_at_its_end() const {
  for (const Segment& segment : segments_) {
    if (&segment == &segments_.back()) {
      break;
    }
    ASSIGN_OR_RETURN(const auto size, segment.file->size());
    if (segment.is_own && size != segment.length) {
      return false;
    }
  }
  return segments_.back().head.is_settled && segments_.back().file->can_grow();
}

Result<FileStat> SegmentsLog::stat() const {
  if (as_it_is_) {
    return as_it_is_->stat();
  }
  ThreadStat all;
  for (const Segment& segment : segments_) {
    ASSIGN_OR_RETURN(const auto st, segment.file->stat());
    const bool is_whole = &segment == &segments_.back() || segment.is_own;
    const std::uint64_t part = segment.file->is_decoded() ? std::min(st.size, segment.length) : segment.length;
    all.add(st, is_whole ? st.size : part, segment.is_own);
  }
  return all.of_thread(facts_);
}

bool SegmentsLog::is_decoded() const {
  return std::any_of(segments_.begin(), segments_.end(),
                     [](const Segment& segment) { return segment.file->is_decoded(); });
}

bool SegmentsLog::can_grow() const {
  return std::all_of(segments_.begin(), segments_.end(),
                     [](const Segment& segment) { return segment.file->can_grow(); });
}

std::uint64_t SegmentsLog::raw_size() const {
  return segments_.back().start + segments_.back().length;
}

const Segment& SegmentsLog::at(std::uint64_t offset) const {
  const auto after = std::upper_bound(segments_.begin(), segments_.end(), offset,
                                      [](std::uint64_t at, const Segment& segment) { return at < segment.start; });
  return *std::prev(after);
}

Result<std::size_t> SegmentsLog::read_at(std::uint64_t offset, std::span<char> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const Segment& segment = at(offset + done);
    const bool is_last = &segment == &segments_.back();
    const std::uint64_t from = offset + done - segment.start;
    std::span<char> rest = into.subspan(done);
    if (!is_last) {
      rest = rest.first(static_cast<std::size_t>(std::min<std::uint64_t>(rest.size(), segment.length - from)));
    }
    ASSIGN_OR_RETURN(const auto got, segment.file->read_at(from, rest));
    done += got;
    if (got < rest.size()) {
      return is_last ? Result<std::size_t>(done)
                     : Result<std::size_t>(Errc::stale, "a segment of the thread was truncated; open the file again");
    }
  }
  return done;
}

std::shared_ptr<const File> SegmentsLog::splice_file() const {
  return segments_.size() == 1 ? segments_.front().file->splice_file() : nullptr;
}

void ThreadStat::add(const FileStat& file, std::uint64_t length, bool is_own) {
  const std::uint64_t size = stat_.size + length;
  if (is_own) {
    const std::int64_t newest = std::max(stat_.mtime_ns, file.mtime_ns);
    stat_ = file;
    stat_.mtime_ns = newest;
  }
  stat_.size = size;
  ++files_;
  const std::string place = std::to_string(file.dev) + ":" + std::to_string(file.ino);
  identity_ = xxh64(place, identity_);
}

/// The facts count as part of the identity, so that a change to them is detected.
FileStat ThreadStat::of_thread(const ThreadFacts& facts) const {
  FileStat all = stat_;
  if (files_ != 1 || !facts.is_empty()) {
    all.ino = xxh64(facts.active, xxh64(facts.name.value_or(""), xxh64(facts.parent, identity_)));
  }
  return all;
}

RecordMarksPtr MarkCache::of(const std::string& home, const std::vector<SegmentFile>& segments,
                             const LogFilter* filter) {
  const std::string state = state_of(home, segments);
  const std::lock_guard lock(mutex_);  // one thread reads, the children of the same thread wait for it
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const auto& each) { return each.first == state; });
  if (known != known_.end()) {
    known_.splice(known_.begin(), known_, known);
    return known_.front().second;
  }
  const auto marks = state.empty() ? Result<RecordMarksPtr>(nullptr) : read_marks(home, segments, filter);
  if (!marks || *marks == nullptr) {
    return nullptr;
  }
  known_.emplace_front(state, *marks);
  known_.resize(std::min(known_.size(), kMost));
  return *marks;
}

SegmentOpener::SegmentOpener(std::string home, Use use) : home_(std::move(home)), use_(use) {}

Result<void> SegmentOpener::go_to(const std::string& folder) {
  if (dir_ && folder == folder_) {
    return {};
  }
  dir_.reset();
  ASSIGN_OR_RETURN(auto dir, open_below(home_, folder));
  dir_ = std::move(dir);
  folder_ = folder;
  return {};
}

Result<std::shared_ptr<const LogSource>> SegmentOpener::open(const SegmentFile& file) {
  if (const auto known = files_.find(file.name.segment); known != files_.end()) {
    return known->second;
  }
  RETURN_IF_ERROR(go_to(file.folder));
  PooledFile::Opener reopen;
  if (use_ == Use::lasting) {
    reopen = [home = home_, folder = file.folder, name = file.file]() -> Result<File> {
      ASSIGN_OR_RETURN(const auto again, open_below(home, folder));
      return File::follow_in(again, name);
    };
  }
  ASSIGN_OR_RETURN(auto log, LogFile::open(*dir_, file.file, std::move(reopen)));
  if (file.name.is_compressed) {
    ASSIGN_OR_RETURN(log, use_ == Use::lasting ? ZstdLog::open(std::move(log), Cancellation::token())
                                               : ZstdLog::open_start(*log, kLongestHead));
  }
  files_.emplace(file.name.segment, log);
  return log;
}

}  // namespace arborfs::codex
