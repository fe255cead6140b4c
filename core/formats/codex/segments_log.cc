#include "core/formats/codex/segments_log.h"

#include <algorithm>
#include <utility>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/base/stripped.h"
#include "core/formats/codex/record.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/log/line_reader.h"

namespace arborfs::codex {

std::optional<HistoryBase> base_in(std::string_view first_line) {
  if (!is_object(first_line) || !skim::is_string(skim::member(first_line, "type"), "session_meta")) {
    return std::nullopt;
  }
  const std::string_view given = skim::member(skim::member(first_line, "payload"), "history_base");
  auto segment = skim::string_value(skim::member(given, "thread_id"));
  if (!segment) {
    return std::nullopt;
  }
  return HistoryBase{*std::move(segment), count_of(skim::member(given, "end_ordinal_exclusive")).value_or(UINT64_MAX),
                     count_of(skim::member(given, "end_byte_offset")).value_or(UINT64_MAX)};
}

namespace {

/// "" unless the line is a session_meta.
std::string_view meta_in(std::string_view line) {
  const bool is_meta = is_object(line) && skim::is_string(skim::member(line, "type"), "session_meta");
  return is_meta ? skim::member(line, "payload") : std::string_view();
}

std::string text_in(std::string_view object, std::string_view key) {
  return skim::string_value(skim::member(object, key)).value_or("");
}

}  // namespace

std::string starter_in(std::string_view first_line) {
  const std::string_view sub_agent = skim::member(skim::member(meta_in(first_line), "source"), "subagent");
  return text_in(skim::member(sub_agent, "thread_spawn"), "parent_thread_id");
}

Result<SegmentHead> read_head(const LogSource& file) {
  ASSIGN_OR_RETURN(const auto size, file.size());
  LineReader lines(file, std::min(size, kLongestHead), nullptr);
  ASSIGN_OR_RETURN(const auto* line, lines.next());
  SegmentHead head;
  head.is_settled = size >= kLongestHead;
  if (line == nullptr || line->is_too_long) {
    return head;
  }
  if (stripped(line->text) == "{") {
    return head;  // a document, which is rewritten as a whole (rollout_document.h)
  }
  head.base = base_in(line->text);
  Relatives& relatives = head.relatives;
  relatives.started_by = starter_in(line->text);
  relatives.forked_from = text_in(meta_in(line->text), "forked_from_id");
  const std::string own = text_in(meta_in(line->text), "id");
  const bool is_ended = line->is_ended;
  ASSIGN_OR_RETURN(const auto* second, lines.next());
  const bool has_second = second != nullptr && second->is_ended;
  if (has_second && !second->is_too_long) {
    const std::string other = text_in(meta_in(second->text), "id");
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
  return segments_.back().head.is_settled && !segments_.back().file->is_decoded();
}

Result<FileStat> SegmentsLog::stat() const {
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
    all.ino = xxh64(facts.name.value_or(""), xxh64(facts.parent, identity_));
  }
  return all;
}

}  // namespace arborfs::codex
