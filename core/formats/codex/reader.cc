#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/words.h"
#include "core/formats/codex/format.h"
#include "core/formats/codex/record.h"
#include "core/formats/codex/rollout_record.h"
#include "core/formats/codex/segments_log.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/places.h"
#include "core/log/line_reader.h"
#include "core/log/log_index.h"
#include "core/log/log_source.h"
#include "core/log/record_reader.h"

namespace arborfs::codex {
namespace {

/// Reads Codex's threads (codex/FORMAT.md B to D). A log that is not a SegmentsLog is read as one segment. Thread-safe.
class Reader : public GrowingReader {
 public:
  [[nodiscard]] Result<Header> read_header(const LogSource& log) const override;
  [[nodiscard]] std::unique_ptr<LogScan> start_scan() const override;
  [[nodiscard]] Result<Header> grown_header(const LogSource& log, const Header& before,
                                            std::uint64_t settled) const override;
  /// The models of the turn_context records (codex/FORMAT.md F3).
  [[nodiscard]] Result<std::vector<ModelChange>> model_changes(const LogSource& log,
                                                               const std::stop_token& stop) const override;
  /// By task_started and task_complete, or the names that they have in other versions.
  [[nodiscard]] Result<std::optional<bool>> turn_is_open(const LogSource& log) const override;
  /// Codex has an item for each thought, call and output.
  [[nodiscard]] std::string_view role_of(std::string_view word) const override {
    if (word.ends_with("_output")) {
      return "tool";
    }
    if (word == "reasoning" || word.ends_with("_call")) {
      return "assistant";
    }
    return word == "developer" || word == "harness" ? "system" : word == "compaction" ? "summary" : word;
  }
};

/// A rollout of the oldest kind: one JSON object, indented over many lines (codex/FORMAT.md B6). Any thread.
struct RolloutDocument {
  struct Item {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  std::string text;         // of the file, with json::Places::kPadding bytes more
  std::vector<Item> items;  // those of `items`, as places in the text
};

/// True if the file begins as such an object, whose first line is no record. Errors: io, stale.
Result<bool> is_document(const LogSource& file) {
  constexpr std::uint64_t kEnough = 64;
  ASSIGN_OR_RETURN(const auto size, file.size());
  ASSIGN_OR_RETURN(const auto start, file.read(0, std::min(size, kEnough)));
  constexpr std::string_view kWhite = " \t\r\n";
  const std::size_t brace = start.find_first_not_of(kWhite);
  if (brace == std::string::npos || start[brace] != '{') {
    return false;
  }
  const std::size_t key = start.find_first_not_of(kWhite, brace + 1);
  return key != std::string::npos && start.find('\n', brace) < key && start.compare(key, 9, "\"session\"") == 0;
}

/// The first `length` bytes of the file; nothing if they are not such an object, or too long to be read at once.
/// Errors: io, stale.
Result<std::optional<RolloutDocument>> read_document(const LogSource& file, std::uint64_t length) {
  if (length > LineReader::kLongestLine) {
    return std::optional<RolloutDocument>();
  }
  RolloutDocument document;
  ASSIGN_OR_RETURN(document.text, file.read(0, length));
  const std::string_view object = stripped(document.text);
  const std::string_view items = is_object(object) ? skim::member(object, "items") : std::string_view();
  if (!items.starts_with('[')) {
    return std::optional<RolloutDocument>();
  }
  for (skim::Cursor cursor(items); cursor.next();) {
    document.items.push_back({static_cast<std::uint64_t>(cursor.value().data() - document.text.data()),
                              static_cast<std::uint64_t>(cursor.value().size())});
  }
  document.text.append(json::Places::kPadding, '\0');
  return std::optional(std::move(document));
}

/// The text of the member `session` in the first bytes of such a file; "" if it is not there.
std::string session_in(std::string_view start) {
  return std::string(skim::member(stripped(start), "session"));
}

/// The segments of a thread as its reader goes through them, and the header in the first of its own (codex/FORMAT.md
/// B2, B6). Any thread.
struct SegmentView {
  std::string id;
  std::optional<HistoryBase> base;
  bool is_own = true;
  bool is_last = true;
  bool is_active = true;  // Codex goes on at its end
  const LogSource* file = nullptr;
  std::uint64_t length = 0;
  std::uint64_t start = 0;
};

/// The header in the first line of a thread's first segment (codex/FORMAT.md B2).
Header header_in(std::string_view line, std::uint64_t offset) {
  json::Document record;
  const json::Value* meta = nullptr;
  bool is_meta = false;
  if (is_object(line) && json::parse(line, record)) {
    const bool is_first_format = json::member(record, "type") == nullptr && json::string_member(record, "id");
    is_meta = json::is_string(json::member(record, "type"), "session_meta");
    meta = is_first_format ? &record : is_meta ? json::member(record, "payload") : nullptr;
  }
  if (meta == nullptr || !meta->IsObject()) {
    return Header::invalid("the first line is not a session_meta record, so Codex cannot open the thread");
  }
  Header header;
  header.valid = true;
  header.json = json::stringify(*meta);
  header.id = json::string_member(*meta, "id").value_or("");
  header.cwd = json::string_member(*meta, "cwd").value_or("");
  header.timestamp = json::string_member(*meta, "timestamp").value_or("");
  header.parent_session = json::string_member(*meta, "forked_from_id").value_or("");
  header.started_by = is_meta ? starter_in(skim::member(line, "payload")) : "";
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
  LineReader lines(*segment.file, length, {});
  ASSIGN_OR_RETURN(const auto* line, lines.next());
  if (line == nullptr) {
    return Header::invalid(std::string(kNoRecords));
  }
  return line->is_too_long ? Header::invalid("the first line is too long")
                           : header_in(line->text, segment.start + line->offset);
}

/// Those of a thread; any other log is a single segment. They point into `log`. Errors: io, stale.
Result<std::vector<SegmentView>> segments_of(const LogSource& log) {
  std::vector<SegmentView> views;
  if (const auto* thread = dynamic_cast<const SegmentsLog*>(&log)) {
    const std::string& active = thread->facts().active;
    for (const Segment& segment : thread->segments()) {
      views.push_back({segment.id, segment.head.base, segment.is_own, false, segment.id == active, segment.file.get(),
                       segment.length, segment.start});
    }
    views.back().is_last = true;
    views.back().is_active = views.back().is_active || active.empty();
    ASSIGN_OR_RETURN(views.back().length, views.back().file->size());
    return views;
  }
  ASSIGN_OR_RETURN(const auto size, log.size());
  views.push_back({"0", std::nullopt, true, true, true, &log, size, 0});
  return views;
}

/// Errors: io, stale.
Result<Header> read_header_of(const std::vector<SegmentView>& views, const LogSource& log) {
  const auto first = std::find_if(views.begin(), views.end(), [](const SegmentView& view) { return view.is_own; });
  ASSIGN_OR_RETURN(Header header, read_first_record(*first));
  const auto active = std::find_if(first, views.end(), [](const auto& view) { return view.is_own && view.is_active; });
  if (active != first && active != views.end()) {
    ASSIGN_OR_RETURN(const auto present, read_first_record(*active));
    header.cwd = present.cwd.empty() ? header.cwd : present.cwd;
  }
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

/// The words for the records of another thread that do not count as those of this one (codex/FORMAT.md E1, F4).
constexpr std::string_view kInherited = "inherited";
constexpr std::string_view kInheritedUsage = "inherited_usage";

/// Goes through the segments of a thread, one after the other.
class Thread final : public LineScan {
 public:
  [[nodiscard]] std::unique_ptr<LogScan> copy() const override { return std::make_unique<Thread>(*this); }

  Result<void> read_to(const LogSource& log, std::uint64_t end, RecordSink& sink,
                       const std::stop_token& stop) override {
    ASSIGN_OR_RETURN(const auto segments, segments_of(log));
    if (begun_ == 0) {
      RETURN_IF_ERROR(find_source(segments, log));
    }
    for (std::size_t at = begun_ == 0 ? 0 : begun_ - 1; at < segments.size(); ++at) {
      const SegmentView& segment = segments[at];
      if (at == begun_) {
        begin(segment, sink);
        ++begun_;
      }
      RETURN_IF_ERROR(read_segment(segment, end, sink, stop));
      leaf_ = segment.is_active ? tip_ : leaf_;
    }
    at_ = end;
    ends_.clear();  // no segment comes that could be based on one of these
    return {};
  }

  Result<bool> can_go_on(const LogSource& log, LogWindow& window, bool has_new_slot) override {
    const auto* const thread = dynamic_cast<const SegmentsLog*>(&log);
    ASSIGN_OR_RETURN(const bool grows, thread == nullptr ? Result<bool>(true) : thread->grows_at_its_end());
    return grows ? LineScan::can_go_on(log, window, has_new_slot) : Result<bool>(false);
  }

 protected:
  void finish(RecordSink& sink) const override {
    sink.set_leaf(leaf_);
    repetitions_.report(sink);
  }
  [[nodiscard]] std::uint64_t growing_part(const LogSource& log) const override {
    const auto* const thread = dynamic_cast<const SegmentsLog*>(&log);
    return thread == nullptr ? 0 : thread->segments().back().start;
  }

 private:
  /// An entry with the ordinal that Codex gave its record.
  struct Placed {
    std::uint64_t ordinal = 0;
    Ordinal entry = kNoEntry;
  };
  /// The entries of a segment, and the source of its history.
  struct Entries {
    std::vector<Placed> placed;
    Ordinal before = kNoEntry;  // the entry from which the segment continues
    std::string missing;        // the id of that entry if there is none
  };

  /// Finds the thread of which this one has copies, once.
  Result<void> find_source(const std::vector<SegmentView>& segments, const LogSource& log) {
    if (const auto* thread = dynamic_cast<const SegmentsLog*>(&log.whole())) {
      source_ = thread->source_marks();
      ASSIGN_OR_RETURN(const Header header, read_header_of(segments, *thread));
      is_sub_agent_ = !header.started_by.empty();
    }
    return {};
  }

  void begin(const SegmentView& segment, const RecordSink& sink) {
    entries_ = {};
    if (segment.base) {
      find_base(*segment.base);
    }
    go_to(entries_.before, sink);
    missing_ = entries_.missing;
    next_ordinal_ = segment.base && segment.base->end_ordinal != UINT64_MAX ? segment.base->end_ordinal : 0;
    line_ = 0;
    is_document_ = false;
    last_sums_ = 0;
    has_usage_records_ = false;
  }

  /// Reads the lines of a segment that come after those that were read before.
  Result<void> read_segment(const SegmentView& segment, std::uint64_t end, RecordSink& sink,
                            const std::stop_token& stop) {
    const std::uint64_t from = at_ > segment.start ? at_ - segment.start : 0;
    if (from == 0 && !is_document_) {
      ASSIGN_OR_RETURN(is_document_, is_document(*segment.file));
    }
    if (is_document_) {
      return read_items(segment, std::min(segment.length, end - segment.start), sink);
    }
    LinePipeline<RolloutLines> stretches(*segment.file, from, std::min(segment.length, end - segment.start), stop);
    for (;;) {
      ASSIGN_OR_RETURN(const auto* stretch, stretches.next());
      if (stretch == nullptr) {
        break;
      }
      for (const RolloutLines::Line& line : stretch->lines) {
        RETURN_IF_ERROR(take(segment, line, sink));
      }
    }
    if (!segment.is_last) {
      ends_[segment.id] = std::move(entries_);
    }
    return {};
  }

  /// The items of a file that is one object. It is read when all of it is there, since its end completes it.
  Result<void> read_items(const SegmentView& segment, std::uint64_t length, RecordSink& sink) {
    ASSIGN_OR_RETURN(const auto size, segment.file->size());
    if (length < size) {
      return {};
    }
    ASSIGN_OR_RETURN(const auto document, read_document(*segment.file, length));
    if (!document) {
      sink.add(Damage{segment.start, length, Damage::Kind::unfinished, segment.is_last});
      return {};
    }
    RolloutLines items;
    RolloutParser parser;
    for (const RolloutDocument::Item& item : document->items) {
      const std::string_view text = std::string_view(document->text).substr(item.offset, item.length);
      items.clear();
      items.take({item.offset, item.length, text, false, true}, parser);
      RETURN_IF_ERROR(take(segment, items.lines.front(), sink));
    }
    return {};
  }

  void go_to(Ordinal tip, const RecordSink& sink) {
    tip_ = tip;
    tip_id_ = tip == kNoEntry ? "" : sink.id(tip);
  }

  /// Finds the last entry of the base before the ordinal at which the segment begins; it may belong to the base's own
  /// base.
  void find_base(const HistoryBase& base) {
    const auto found = ends_.find(base.segment);
    if (found == ends_.end()) {
      entries_.missing = base.segment + ":" + std::to_string(base.end_ordinal - (base.end_ordinal > 0 ? 1 : 0));
      return;
    }
    const std::vector<Placed>& placed = found->second.placed;
    const auto end = std::partition_point(placed.begin(), placed.end(),
                                          [&](const Placed& each) { return each.ordinal < base.end_ordinal; });
    entries_.before = end == placed.begin() ? found->second.before : std::prev(end)->entry;
    entries_.missing = entries_.before == kNoEntry ? found->second.missing : "";
  }

  Result<void> take(const SegmentView& segment, const RolloutLines::Line& line, RecordSink& sink) {
    ++line_;
    const auto& record = line.record;
    if (!record) {
      const Damage::Kind kind = line.is_too_long ? Damage::Kind::too_tangled
                                : line.is_ended  ? Damage::Kind::malformed
                                                 : Damage::Kind::unfinished;
      sink.add(Damage{segment.start + line.offset, line.length, kind, !line.is_ended && segment.is_last});
      return {};
    }
    next_ordinal_ = std::max(next_ordinal_, record->ordinal.value_or(next_ordinal_));
    const std::uint64_t ordinal = next_ordinal_++;
    switch (record->kind) {
      case RolloutRecord::Kind::rollback:
        roll_back(record->turns, sink);
        return {};
      case RolloutRecord::Kind::left_out:
        sink.leave_out(record->type);
        return {};
      case RolloutRecord::Kind::prompt:
        if (!repetitions_.is_new_prompt(record->speech)) {
          return {};
        }
        repetitions_.end_turn(sink);
        break;
      case RolloutRecord::Kind::aside:
        if (record->is_header && line_ > 1) {
          sink.leave_out("");
        }
        if (record->speech.voice != Speech::Voice::none) {
          repetitions_.take_event(record->speech, sink);
        }
        if (!is_new_usage(*record)) {
          return {};
        }
        break;
      case RolloutRecord::Kind::entry:
        note_item(*record, sink);
        has_usage_records_ = has_usage_records_ || record->type == "token_usage_record";
    }
    return add(segment, line, *record, ordinal, sink);
  }

  void note_item(const RolloutRecord& item, RecordSink& sink) {
    if (item.begins_turn) {
      repetitions_.end_turn(sink);
    }
    repetitions_.take_item(item.speech);
  }

  /// Events repeat the sums; a newer Codex writes a record of its own for each response (codex/FORMAT.md F2).
  bool is_new_usage(const RolloutRecord& record) {
    if (!record.is_legacy_usage || record.ordinal || has_usage_records_ || record.mark == last_sums_) {
      return false;
    }
    last_sums_ = record.mark;
    return true;
  }

  /// Goes back to before the n-th last of the user's turns (codex/FORMAT.md C4).
  void roll_back(std::uint64_t turns, const RecordSink& sink) {
    Ordinal tip = tip_;
    for (Ordinal at = tip_; at != kNoEntry && turns > 0; at = sink.parent(at)) {
      if (begins_turn_[at - 1]) {
        tip = sink.parent(at);
        --turns;
      }
    }
    go_to(tip, sink);
  }

  /// A record's own id unless another entry has it.
  [[nodiscard]] std::string id_of(const SegmentView& segment, const RolloutRecord& record,
                                  const RecordSink& sink) const {
    if (record.id && !record.id->empty() && sink.find(*record.id) == kNoEntry) {
      return std::string(*record.id);
    }
    const std::string made = segment.id + ":" + std::to_string(record.ordinal.value_or(line_));
    std::string id = made;
    for (int again = 2; sink.find(id) != kNoEntry; ++again) {
      id = made + "~" + std::to_string(again);
    }
    return id;
  }

  Result<void> add(const SegmentView& segment, const RolloutLines::Line& line, const RolloutRecord& record,
                   std::uint64_t ordinal, RecordSink& sink) {
    std::string id = id_of(segment, record, sink);
    const std::string_view parent = tip_ != kNoEntry ? tip_id_ : missing_;
    RecordFields fields;
    fields.offset = segment.start + line.offset;
    fields.length = line.length;
    fields.id = FieldValue::of(id);
    fields.parent = FieldValue::of(parent);
    if (parent.empty()) {
      fields.parent.kind = FieldValue::Kind::null;
    }
    const bool is_usage = record.is_legacy_usage || record.type == "token_usage_record";
    const bool is_inherited = !segment.is_own || (source_ && source_->contains(record.mark));
    fields.type = FieldValue::of(is_usage && is_inherited ? kInheritedUsage : record.type);
    fields.role = FieldValue::of(is_sub_agent_ && is_inherited && record.begins_turn ? kInherited : record.role);
    fields.timestamp = FieldValue::of(record.timestamp);
    RETURN_IF_ERROR(sink.add(fields, line.hash));
    begins_turn_.push_back(record.begins_turn);
    tip_ = static_cast<Ordinal>(begins_turn_.size());
    tip_id_ = std::move(id);
    if (!segment.is_last) {
      entries_.placed.push_back({ordinal, tip_});
    }
    missing_.clear();
    return {};
  }

  std::uint64_t at_ = 0;
  std::size_t begun_ = 0;  // segments
  // Of the segment that is read:
  bool is_document_ = false;
  Entries entries_;
  std::string missing_;
  std::uint64_t next_ordinal_ = 0;
  std::uint64_t line_ = 0;
  std::uint64_t last_sums_ = 0;  // the mark of the last record with running sums
  bool has_usage_records_ = false;
  // Of all:
  Repetitions repetitions_;
  RecordMarksPtr source_;  // of the thread of which this one has copies; null for none
  bool is_sub_agent_ = false;
  std::unordered_map<std::string, Entries> ends_;  // by segment; of those that have been read
  std::vector<bool> begins_turn_;                  // by entry
  Ordinal tip_ = kNoEntry;                         // the entry from which the next one continues
  std::string tip_id_;
  Ordinal leaf_ = kNoEntry;  // the end of the active segment
};

constexpr std::string_view kSettings = "turn_context";

/// The model that a line sets; "" if it sets none.
std::string model_in(std::string_view line) {
  json::Document record;
  if (line.find(kSettings) == std::string_view::npos || !json::parse(line, record) ||
      !json::is_string(json::member(record, "type"), kSettings)) {
    return "";
  }
  const json::Value* payload = json::member(record, "payload");
  return payload == nullptr ? "" : json::text_member(*payload, "model");
}

}  // namespace

Result<Header> Reader::read_header(const LogSource& log) const {
  ASSIGN_OR_RETURN(const auto views, segments_of(log));
  return read_header_of(views, log);
}

std::unique_ptr<LogScan> Reader::start_scan() const {
  return std::make_unique<Thread>();
}

/// The first line never changes once it has ended.
Result<Header> Reader::grown_header(const LogSource& log, const Header& before, std::uint64_t settled) const {
  return before.valid && before.offset + before.length < settled ? before : read_header(log);
}

Result<std::vector<LogReader::ModelChange>> Reader::model_changes(const LogSource& log,
                                                                  const std::stop_token& stop) const {
  ASSIGN_OR_RETURN(const auto size, log.size());
  LineReader lines(log, size, stop);
  std::vector<ModelChange> changes;
  for (;;) {
    ASSIGN_OR_RETURN(const auto* line, lines.next());
    if (line == nullptr) {
      return changes;
    }
    std::string model = model_in(line->text);
    if (!model.empty() && (changes.empty() || changes.back().model != model)) {
      changes.push_back({line->offset, std::move(model)});
    }
  }
}

namespace {

/// Whether the line begins a turn or ends one; nothing for any other line.
std::optional<bool> begins_turn(std::string_view line) {
  if (!skim::contains(line, "event_msg")) {
    return std::nullopt;
  }
  const std::string type = skim::text_member(skim::member(line, "payload"), "type");
  if (type == "task_started" || type == "turn_started") {
    return true;
  }
  return type == "task_complete" || type == "turn_complete" || type == "turn_aborted" ? std::optional(false)
                                                                                      : std::nullopt;
}

/// Of the last such line in a piece of the log. The piece begins with a part of a line unless `is_start`.
std::optional<bool> last_turn_in(std::string_view piece, bool is_start) {
  while (!piece.empty()) {
    const std::size_t before = piece.substr(0, piece.size() - 1).rfind('\n');
    if (before == std::string_view::npos && !is_start) {
      break;
    }
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    if (const auto found = begins_turn(piece.substr(begin))) {
      return found;
    }
    piece = piece.substr(0, begin);
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<bool>> Reader::turn_is_open(const LogSource& log) const {
  constexpr std::uint64_t kFirstLook = std::uint64_t{64} << 10U;
  constexpr std::uint64_t kLongestLook = std::uint64_t{16} << 20U;
  ASSIGN_OR_RETURN(const auto size, log.size());
  for (std::uint64_t length = std::min(size, kFirstLook);; length = std::min({size, length * 16, kLongestLook})) {
    ASSIGN_OR_RETURN(const auto piece, log.read(size - length, length));
    const auto found = last_turn_in(piece, length == size);
    if (found || length == size || length == kLongestLook) {
      return found;
    }
  }
}

const LogReader& reader() {
  static const Reader reader;
  return reader;
}

}  // namespace arborfs::codex
