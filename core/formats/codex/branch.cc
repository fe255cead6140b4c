#include "core/formats/codex/branch.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/entry/tree.h"
#include "core/formats/codex/record.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/log/line_reader.h"

namespace arborfs::codex {
namespace {

Error inside_a_turn() {
  return {Errc::invalid_argument,
          "Codex goes back only to the end of a turn, and the turn of this entry goes on after "
          "it; choose the last entry before a message of the user"};
}

/// True for an entry of the conversation, other than what Codex puts in before a message of the user.
bool is_said(const LogIndex& index, Ordinal entry) {
  const std::string_view name = index.name(entry);
  return name == "user" || name == "assistant" || name == "reasoning" || name == "compaction" ||
         name.ends_with("_call") || name.ends_with("_output");
}

const Segment& segment_at(const SegmentsLog& thread, std::uint64_t offset) {
  const auto& segments = thread.segments();
  const auto after =
      std::find_if(segments.begin(), segments.end(), [&](const Segment& segment) { return segment.start > offset; });
  return *std::prev(after);
}

}  // namespace

Result<TurnEnd> turn_end(const SegmentsLog& thread, const std::optional<EntryPlace>& entry) {
  const Segment& segment = entry ? segment_at(thread, entry->offset) : thread.segments().front();
  const std::uint64_t begin = entry ? entry->offset - segment.start : 0;
  ASSIGN_OR_RETURN(const auto size, segment.file->size());
  TurnEnd end{segment.id, segment.is_own, false, 0, size};
  LineReader lines(*segment.file, begin, size, {});
  for (bool is_entry = entry.has_value();; is_entry = false) {
    ASSIGN_OR_RETURN(const auto* line, lines.next());
    if (line == nullptr) {
      end.is_last = true;
      return end;
    }
    if (!is_object(line->text)) {
      continue;
    }
    const auto ordinal = count_of(skim::member(line->text, "ordinal"));
    const std::string_view type = skim::member(line->text, "type");
    const std::string_view payload = skim::member(line->text, "payload");
    if (skim::is_string(type, "event_msg") && skim::is_string(skim::member(payload, "type"), "task_started")) {
      end.ordinal = ordinal.value_or(0);
      end.offset = line->offset;
      return end;
    }
    const bool is_after = entry && !is_entry;
    if (is_after && (skim::is_string(type, "response_item") || skim::is_string(type, "compacted"))) {
      return inside_a_turn();
    }
    end.ordinal = ordinal ? *ordinal + 1 : end.ordinal;
  }
}

std::string payload_based_on(std::string payload, const TurnEnd& from) {
  const std::string base = json::Text::object()
                               .add("thread_id", from.segment)
                               .add("end_ordinal_exclusive", from.ordinal)
                               .add("end_byte_offset", from.offset)
                               .str();
  return skim::set_member(std::move(payload), "history_base", base);
}

/// That of the thread's first segment, with another base.
Result<std::string> segment_payload(const SegmentsLog& thread, const TurnEnd& from) {
  const auto own = std::find_if(thread.segments().begin(), thread.segments().end(),
                                [](const Segment& segment) { return segment.is_own; });
  LineReader lines(*own->file, std::min(own->length, kLongestHead), {});
  ASSIGN_OR_RETURN(const auto* line, lines.next());
  if (line == nullptr || !is_object(line->text)) {
    return Error{Errc::read_only, "the first line of the thread's file cannot be read"};
  }
  return payload_based_on(std::string(skim::member(line->text, "payload")), from);
}

Result<std::uint64_t> turns_after(const LogIndex& index, Ordinal leaf, Ordinal entry) {
  const auto path = path_to(index, leaf);
  auto at = path.begin();
  if (entry != kNoEntry) {
    at = std::find(path.begin(), path.end(), entry);
    if (at == path.end()) {
      return Error{Errc::invalid_argument,
                   "Codex cannot return to turns that this thread has dropped; fork the session at the entry instead"};
    }
    ++at;
  }
  std::uint64_t turns = 0;
  for (; at != path.end(); ++at) {
    const bool begins_turn = index.name(*at) == "user";
    if (turns == 0 && !begins_turn && is_said(index, *at)) {
      return inside_a_turn();
    }
    turns += begins_turn ? 1 : 0;
  }
  return turns;
}

}  // namespace arborfs::codex
