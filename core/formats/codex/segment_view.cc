#include "core/formats/codex/segment_view.h"

#include <algorithm>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/codex/record.h"
#include "core/formats/codex/rollout_document.h"
#include "core/json/document.h"
#include "core/log/line_reader.h"

namespace arborfs::codex {
namespace {

Header no_header(std::string problem) {
  Header header;
  header.problem = std::move(problem);
  return header;
}

/// The header in the first line of a thread's first segment (codex/FORMAT.md B2).
Header header_in(std::string_view line, std::uint64_t offset) {
  json::Document record;
  const json::Value* meta = nullptr;
  if (is_object(line) && json::parse(line, record)) {
    const bool is_first_format = json::member(record, "type") == nullptr && json::string_member(record, "id");
    const bool is_meta = json::is_string(json::member(record, "type"), "session_meta");
    meta = is_first_format ? &record : is_meta ? json::member(record, "payload") : nullptr;
  }
  if (meta == nullptr || !meta->IsObject()) {
    return no_header("the first line is not a session_meta record, so Codex cannot open the thread");
  }
  Header header;
  header.valid = true;
  header.json = json::stringify(*meta);
  header.id = json::string_member(*meta, "id").value_or("");
  header.cwd = json::string_member(*meta, "cwd").value_or("");
  header.timestamp = json::string_member(*meta, "timestamp").value_or("");
  header.parent_session = json::string_member(*meta, "forked_from_id").value_or("");
  header.started_by = starter_in(line);
  header.offset = offset;
  header.length = line.size();
  return header;
}

Result<Header> read_first_record(const SegmentView& segment) {
  const std::uint64_t length = std::min(segment.length, kLongestHead);
  ASSIGN_OR_RETURN(const bool is_one_object, is_document(*segment.file));
  if (is_one_object) {
    ASSIGN_OR_RETURN(const auto start, segment.file->read(0, length));
    return header_in(session_in(start), segment.start);
  }
  LineReader lines(*segment.file, length, nullptr);
  ASSIGN_OR_RETURN(const auto* line, lines.next());
  if (line == nullptr) {
    return no_header(std::string(kNoRecords));
  }
  return line->is_too_long ? no_header("the first line is too long")
                           : header_in(line->text, segment.start + line->offset);
}

}  // namespace

Result<std::vector<SegmentView>> segments_of(const LogSource& log) {
  std::vector<SegmentView> views;
  if (const auto* thread = dynamic_cast<const SegmentsLog*>(&log)) {
    for (const Segment& segment : thread->segments()) {
      views.push_back(
          {segment.id, segment.head.base, segment.is_own, false, segment.file.get(), segment.length, segment.start});
    }
    views.back().is_last = true;
    ASSIGN_OR_RETURN(views.back().length, views.back().file->size());
    return views;
  }
  ASSIGN_OR_RETURN(const auto size, log.size());
  views.push_back({"0", std::nullopt, true, true, &log, size, 0});
  return views;
}

Result<Header> read_header_of(const std::vector<SegmentView>& views, const LogSource& log) {
  const auto first = std::find_if(views.begin(), views.end(), [](const SegmentView& view) { return view.is_own; });
  ASSIGN_OR_RETURN(Header header, read_first_record(*first));
  if (const auto* thread = dynamic_cast<const SegmentsLog*>(&log)) {
    const ThreadFacts& facts = thread->facts();
    header.title = facts.name.value_or("");
    header.is_named = facts.name.has_value();
    header.id = thread->place().empty() ? header.id : thread->place();
    header.started_by = facts.parent.empty() ? header.started_by : facts.parent;
    header.parent_session = header.parent_session.empty() ? header.started_by : header.parent_session;
  }
  return header;
}

}  // namespace arborfs::codex
