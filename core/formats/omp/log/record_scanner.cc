#include "core/formats/omp/log/record_scanner.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "core/base/error.h"
#include "core/formats/omp/log/dialect.h"
#include "core/json/document.h"
#include "core/json/js_text.h"
#include "core/json/places.h"
#include "core/json/scan.h"
#include "core/log/line_reader.h"

namespace arborfs::omp {

namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kSpaceOrNul(" \t\r\n\0", 5);

// Skips NUL bytes and white space; skips NULs eight at a time, because there may be gigabytes of them.
std::size_t skip_nuls(std::string_view piece, std::size_t at) {
  for (;;) {
    std::uint64_t word = 0;
    while (piece.size() - at >= sizeof word && (std::memcpy(&word, piece.data() + at, sizeof word), word == 0)) {
      at += sizeof word;
    }
    if (at == piece.size() || kSpaceOrNul.find(piece[at]) == std::string_view::npos) {
      return at;
    }
    ++at;
  }
}

}  // namespace

void DamageRun::feed(std::string_view piece) {
  if (blank_) {
    held_ += piece;
    const std::string_view rest = trimmed_start(held_);
    blank_ = rest.empty() || (rest.size() < 3 && static_cast<unsigned char>(rest[0]) >= 0x80);  // one may have 3 bytes
    held_ = blank_ ? std::string(rest) : std::string();
  }
  note_ends(piece);
  at_ += piece.size();
}

void DamageRun::note_ends(std::string_view piece) {
  const std::size_t first = piece.find_first_not_of(kSpace);
  if (first == std::string_view::npos) {
    return;
  }
  first_ = std::min(first_, at_ + first);
  last_ = at_ + piece.find_last_not_of(kSpace) + 1;
  const std::size_t solid = skip_nuls(piece, first);
  if (solid < piece.size()) {
    first_solid_ = std::min(first_solid_, at_ + solid);
    last_solid_ = at_ + piece.find_last_not_of(kSpaceOrNul) + 1;
  }
}

std::vector<Damage> DamageRun::runs(Damage::Kind kind) const {
  std::vector<Damage> found;
  if (first_ == UINT64_MAX) {
    return found;
  }
  if (first_solid_ == UINT64_MAX) {
    found.push_back({first_, last_ - first_, Damage::Kind::nul, false});
    return found;
  }
  if (first_ < first_solid_) {
    found.push_back({first_, first_solid_ - first_, Damage::Kind::nul, false});
  }
  found.push_back({first_solid_, last_solid_ - first_solid_, kind, false});
  if (last_solid_ < last_) {
    found.push_back({last_solid_, last_ - last_solid_, Damage::Kind::nul, false});
  }
  return found;
}

namespace {

using Phase = ScanPoint::Phase;
using Verdict = json::ValueScanner::Verdict;

constexpr std::string_view kBlank = " \t\r";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::uint64_t kStreamedFrom = 8 * 1024 * 1024;

// In a hostile log, each line may make the scanner read all lines after it and then read them again. The scan gives up
// when the bytes read again exceed kRescanFloor + kRescanTimes * the size of the log.
constexpr std::uint64_t kRescanFloor = 64 * 1024 * 1024;
constexpr std::uint64_t kRescanTimes = 8;

bool is_escaped(std::string_view string) {
  return string.find('\\') != std::string_view::npos;
}

static_assert(StretchBuffer::kPadding >= json::Places::kPadding && StretchBuffer::kPadding >= json::kEscapePadding);

}  // namespace

/// Reads the lines that are one plain record and nothing else.
namespace plain {

/// A fast parser for records in the form that agents write, on the places that simdjson finds: fields point into the
/// text, and nothing is copied or converted. Used by one thread.
class Parser {
 public:
  /// True if `text` is one value by the strictest reading and its fields are plain: no numbers, arrays or objects, and
  /// no escapes. `text` must start with { or [, must not end with white space, and json::Places::kPadding bytes after
  /// it must be readable. Fills the fields but not offset and length; their texts point into `text`. False says nothing
  /// about `text`.
  bool parse(std::string_view text, RecordFields& record) {
    record = RecordFields();
    return places_.find(text) && note_fields(record) && json::has_valid_escapes(text);
  }

 private:
  bool note_fields(RecordFields& record);
  bool note_member(const json::Places::Cursor& member, RecordFields& record);
  bool note_role(json::Places::Place message, FieldValue& role);
  bool note(json::Places::Place value, FieldValue& field);

  json::Places places_;
};

// False if the fields are not plain.
bool Parser::note_fields(RecordFields& record) {
  if (places_.lead(0) == '[') {
    record.shape = RecordFields::Shape::array;
    return true;
  }
  for (json::Places::Cursor members(places_, 0); !members.done(); members.step()) {
    if (!note_member(members, record)) {
      return false;
    }
  }
  return true;
}

// False if the member is not plain.
bool Parser::note_member(const json::Places::Cursor& member, RecordFields& record) {
  const std::string_view key = member.key();
  if (is_escaped(key)) {
    return false;
  }
  if (key == "message") {
    return note_role(member.value(), record.role);
  }
  if (FieldValue* const field = field_of(record, key)) {
    return note(member.value(), *field);
  }
  record.hints |= dialect_hint_of(key);
  return true;
}

// A later `message` replaces an earlier one, including all its members (omp/FORMAT.md A9).
bool Parser::note_role(json::Places::Place message, FieldValue& role) {
  role = FieldValue();
  if (places_.lead(message) != '{') {
    return true;
  }
  for (json::Places::Cursor members(places_, message); !members.done(); members.step()) {
    const std::string_view key = members.key();
    if (is_escaped(key) || (key == "role" && !note(members.value(), role))) {
      return false;
    }
  }
  return true;
}

bool Parser::note(json::Places::Place value, FieldValue& field) {
  field = FieldValue();
  switch (places_.lead(value)) {
    case '"':
      field.kind = FieldValue::Kind::string;
      field.text = places_.string(value);
      return !is_escaped(field.text);
    case 't':
    case 'f':
      field.kind = FieldValue::Kind::boolean;
      field.truth = places_.lead(value) == 't';
      return true;
    case 'n':
      field.kind = FieldValue::Kind::null;
      return true;
    default:
      return false;
  }
}

/// A line that is one plain record and nothing else.
struct Line {
  RecordFields record;
  std::uint64_t next = 0;  // where the following line starts
};

/// Those of a stretch, for LinePipeline.
struct Lines {
  using Parser = plain::Parser;
  /// Longer lines are left to the exact reader, because the places of a text may take several times its size.
  static constexpr LongLines kLongLines{std::uint64_t{2} << 20U, false};
  /// Limits the memory of a stretch of tiny lines; agents' lines are longer.
  static constexpr std::size_t kMostLines = 8192;
  static constexpr std::size_t kFewLines = 8;
  static constexpr std::size_t kUsualLines = 1024;
  std::vector<Line> lines;

  void clear() { lines.clear(); }
  void take(const LineReader::Line& line, Parser& parser) {
    const bool is_container = line.text.starts_with('{') || line.text.starts_with('[');
    if (!line.is_ended || !is_container || lines.size() == kMostLines) {
      return;
    }
    if (lines.size() == kFewLines) {
      lines.reserve(kUsualLines);  // at once; after an append there are few lines to read, often one
    }
    Line& made = lines.emplace_back();
    if (!parser.parse(line.text, made.record)) {
      lines.pop_back();
      return;
    }
    made.record.offset = line.offset;
    made.record.length = line.length;
    made.next = line.next;
  }
};

}  // namespace plain

namespace {

constexpr std::size_t kLongestEscape = 12;  // a surrogate pair

std::optional<std::string> text_in(std::string_view literal) {
  json::Document value;
  return json::parse(literal, value) && value.IsString() ? std::optional(std::string(json::as_string(value)))
                                                         : std::nullopt;
}

// The value of a string literal that may have been cut at any byte, unless it is `complete`.
std::string unescape(std::string_view literal, bool complete) {
  if (complete) {
    return text_in(literal).value_or("");
  }
  for (std::size_t back = 0; back <= kLongestEscape && back < literal.size(); ++back) {
    if (auto text = text_in(std::string(literal.substr(0, literal.size() - back)) + '"')) {
      return *std::move(text);
    }
  }
  return {};
}

std::string spelled_key(std::string_view key) {
  return is_escaped(key) ? text_in('"' + std::string(key) + '"').value_or("") : std::string(key);
}

// The longest spelling of a key that matters here: every letter as \u00xx.
constexpr std::size_t kLongestKey = 28 * 6;

}  // namespace

/// Reads plain lines ahead of the scan, on its thread and, for a big log, on a helper.
class RecordScanner::ReadAhead {
 public:
  ReadAhead(const LogSource& log, std::uint64_t begin, const LogWindow& window)
      : stretches_(log, begin, window.end(), window.stop()), rows_end_(begin) {}

  /// The plain line that starts at `offset`, which is never less than in the previous call; null if there is none.
  /// Valid until the next call. Errors: those of LinePipeline::next().
  Result<const plain::Line*> line_at(std::uint64_t offset) {
    if (offset >= rows_end_) {
      ASSIGN_OR_RETURN(rows_, stretches_.next(offset));
      rows_end_ = rows_ == nullptr ? UINT64_MAX : stretches_.end_of_rows();
      at_ = 0;
    }
    if (rows_ == nullptr) {
      return nullptr;
    }
    while (at_ < rows_->lines.size() && rows_->lines[at_].record.offset < offset) {
      ++at_;
    }
    const bool is_found = at_ < rows_->lines.size() && rows_->lines[at_].record.offset == offset;
    return is_found ? &rows_->lines[at_] : nullptr;
  }

 private:
  LinePipeline<plain::Lines> stretches_;
  const plain::Lines* rows_ = nullptr;
  std::size_t at_ = 0;      // in rows_
  std::uint64_t rows_end_;  // later lines are not in rows_
};

/// Collects the fields of a record from the events of a ValueScanner, for values that are too long, too deep or too
/// unusual for plain::Parser. Memory is bounded by one text for each field.
class RecordScanner::StreamedRecord final : public json::FieldObserver {
 public:
  /// Fields that are arrays or objects are kept as JSON text up to this many bytes, longer ones as [] or {}.
  static constexpr std::uint64_t kMaxContainer = json::ValueScanner::kMaxObservedBytes;

  /// Forgets all observed fields.
  void reset();

  void on_scalar(std::string_view parent_key, std::string_view key, std::string_view raw, bool complete) override;
  void on_container(std::string_view key, char opener, std::uint64_t offset) override;
  void on_container_end(std::uint64_t offset) override;

  /// The record. Call it when the value has ended; the value is `length` bytes from `offset` on. The record's texts are
  /// valid until reset(). Reads the texts of containers from the window; errors: those of the window.
  Result<RecordFields> finish(LogWindow& window, std::uint64_t offset, std::uint64_t length);

 private:
  struct Container {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    char opener = 0;
  };
  /// The field that a member is for; null for other members.
  FieldValue* field_for(std::string_view parent_key, std::string_view key);
  void take(FieldValue& field, std::string_view raw, bool complete);
  Result<void> read_container(LogWindow& window, std::uint64_t base, const Container& container, FieldValue& field);

  RecordFields record_;
  std::map<FieldValue*, std::string> texts_;     // of fields of record_
  std::map<FieldValue*, Container> containers_;  // the last one of each field
  Container* open_ = nullptr;
};

void RecordScanner::StreamedRecord::reset() {
  record_ = RecordFields();
  texts_.clear();
  containers_.clear();
  open_ = nullptr;
}

FieldValue* RecordScanner::StreamedRecord::field_for(std::string_view parent_key, std::string_view key) {
  if (key.size() > kLongestKey || parent_key.size() > kLongestKey) {
    return nullptr;
  }
  const std::string name = spelled_key(key);
  if (!parent_key.empty()) {
    return name == "role" && spelled_key(parent_key) == "message" ? &record_.role : nullptr;
  }
  if (name == "message") {
    record_.role = FieldValue();
    return nullptr;
  }
  FieldValue* const field = field_of(record_, name);
  record_.hints |= field == nullptr ? dialect_hint_of(name) : 0;
  return field;
}

void RecordScanner::StreamedRecord::on_scalar(std::string_view parent_key, std::string_view key, std::string_view raw,
                                              bool complete) {
  if (FieldValue* const field = field_for(parent_key, key)) {
    take(*field, raw, complete);
  }
}

void RecordScanner::StreamedRecord::on_container(std::string_view key, char opener, std::uint64_t offset) {
  open_ = nullptr;
  if (FieldValue* const field = field_for("", key)) {
    *field = FieldValue();
    field->kind = FieldValue::Kind::container;
    open_ = &containers_.insert_or_assign(field, Container{offset, offset, opener}).first->second;
  }
}

void RecordScanner::StreamedRecord::on_container_end(std::uint64_t offset) {
  if (open_ != nullptr) {
    open_->end = offset;
    open_ = nullptr;
  }
}

Result<RecordFields> RecordScanner::StreamedRecord::finish(LogWindow& window, std::uint64_t offset,
                                                           std::uint64_t length) {
  for (const auto& [field, container] : containers_) {
    if (field->kind == FieldValue::Kind::container) {
      RETURN_IF_ERROR(read_container(window, offset, container, *field));
    }
  }
  record_.offset = offset;
  record_.length = length;
  return record_;
}

void RecordScanner::StreamedRecord::take(FieldValue& field, std::string_view raw, bool complete) {
  field = FieldValue();
  if (raw.front() == '"') {
    field.kind = FieldValue::Kind::string;
    field.text = texts_[&field] = unescape(raw, complete);
  } else if (raw == "null") {
    field.kind = FieldValue::Kind::null;
  } else if (raw == "true" || raw == "false") {
    field.kind = FieldValue::Kind::boolean;
    field.truth = raw == "true";
  } else {
    json::Document value;
    field.kind = FieldValue::Kind::number;
    field.number = json::parse(raw, value) && value.IsNumber() ? value.GetDouble() : 0;
  }
}

Result<void> RecordScanner::StreamedRecord::read_container(LogWindow& window, std::uint64_t base,
                                                           const Container& container, FieldValue& field) {
  std::string& text = texts_[&field];
  text.clear();
  if (container.end - container.start > kMaxContainer) {
    text = container.opener == '{' ? "{}" : "[]";
  } else {
    const auto size = static_cast<std::size_t>(container.end - container.start);
    ASSIGN_OR_RETURN(auto bytes, window.view(base + container.start, size));
    json::canonicalize(bytes.substr(0, size), text);
  }
  field.text = text;
  return {};
}

bool has_lenient_boms(const LogSource& log, std::uint64_t size) {
  return !log.is_decoded() && size >= kStreamedFrom;
}

RecordScanner::RecordScanner(LogWindow& window, ScanPoint start, bool bom_on_any_line, const LogSource* ahead)
    : window_(window),
      at_(start),
      bom_on_any_line_(bom_on_any_line),
      ahead_(ahead == nullptr ? nullptr : std::make_unique<ReadAhead>(*ahead, start.offset, window)),
      observed_(std::make_unique<StreamedRecord>()),
      scanner_(observed_.get()) {}

RecordScanner::~RecordScanner() = default;

Result<const RecordFields*> RecordScanner::next() {
  for (;;) {
    ASSIGN_OR_RETURN(auto found, step());
    if (found == Found::end) {
      mark_tail(at_.offset, at_.phase);
      return nullptr;
    }
    if (found == Found::record) {
      if (tail_) {
        tail_->has_records = true;
      }
      return &record_;
    }
  }
}

Result<RecordScanner::Found> RecordScanner::step() {
  switch (at_.phase) {
    case Phase::line_start: {
      ASSIGN_OR_RETURN(const bool is_taken, take_line_ahead());
      return is_taken ? Result<Found>(Found::record) : find_value();
    }
    case Phase::before_value:
      return find_value();
    default:
      return end_line();
  }
}

// Takes the line from the read-ahead, if it is there.
Result<bool> RecordScanner::take_line_ahead() {
  if (ahead_ == nullptr) {
    return false;
  }
  ASSIGN_OR_RETURN(const plain::Line* const line, ahead_->line_at(at_.offset));
  if (line == nullptr) {
    return false;
  }
  record_ = line->record;
  at_ = {line->next, Phase::line_start};
  return true;
}

// Skips white space before a value, then reads the value.
Result<RecordScanner::Found> RecordScanner::find_value() {
  ASSIGN_OR_RETURN(auto text, window_.view(at_.offset, kByteOrderMark.size()));
  if (text.empty()) {
    return Found::end;
  }
  if (at_.phase == Phase::line_start && (at_.offset == 0 || bom_on_any_line_) && text.starts_with(kByteOrderMark)) {
    at_ = {at_.offset + kByteOrderMark.size(), Phase::before_value};
    return Found::nothing;
  }
  const std::size_t found = text.find_first_not_of(kBlank);
  const std::size_t skipped = found == std::string_view::npos ? text.size() : found;
  if (found != std::string_view::npos && text[found] == '\n') {
    at_ = {at_.offset + found + 1, Phase::line_start};
    return Found::nothing;
  }
  if (skipped != 0) {
    at_ = {at_.offset + skipped, Phase::before_value};
  }
  return skipped == text.size() ? Result<Found>(Found::nothing) : read_value();
}

// After a value: skips white space to the end of the line; drops any other rest of the line (omp/FORMAT.md A3).
Result<RecordScanner::Found> RecordScanner::end_line() {
  std::uint64_t offset = at_.offset;
  for (;;) {
    ASSIGN_OR_RETURN(auto text, window_.view(offset, 1));
    if (text.empty()) {
      return Found::end;
    }
    const std::size_t rest = text.find_first_not_of(kBlank);
    if (rest == std::string_view::npos) {
      offset += text.size();
      continue;
    }
    if (text[rest] == '\n') {
      at_ = {offset + rest + 1, Phase::line_start};
      return Found::nothing;
    }
    return drop_line(at_.offset, Damage::Kind::fused);
  }
}

Result<RecordScanner::Found> RecordScanner::read_value() {
  scanner_.reset();
  observed_->reset();
  for (std::uint64_t fed = 0;;) {
    ASSIGN_OR_RETURN(auto text, window_.view(at_.offset + fed, 1));
    std::size_t used = 0;
    const bool at_end = text.empty();
    const Verdict verdict = at_end ? scanner_.finish() : scanner_.feed(text, used);
    if (verdict == Verdict::need_more) {
      fed += text.size();
      continue;
    }
    return verdict == Verdict::value ? accept() : reject(verdict, fed + used, at_end);
  }
}

// Called when the value that starts here has ended without error.
Result<RecordScanner::Found> RecordScanner::accept() {
  ASSIGN_OR_RETURN(auto first, window_.view(at_.offset, 1));
  const char lead = first.empty() ? '{' : first.front();
  ASSIGN_OR_RETURN(record_, observed_->finish(window_, at_.offset, scanner_.length()));
  record_.shape = lead == '{'   ? RecordFields::Shape::object
                  : lead == '[' ? RecordFields::Shape::array
                                : RecordFields::Shape::scalar;
  const bool is_number = lead == '-' || (lead >= '0' && lead <= '9');
  at_ = {at_.offset + scanner_.length(), is_number ? Phase::after_number : Phase::after_value};
  return Found::record;
}

// Called when no value starts here (omp/FORMAT.md A4, A5). The verdict took `fed` bytes and, if `at_end`, the end of
// the text.
Result<RecordScanner::Found> RecordScanner::reject(Verdict verdict, std::uint64_t fed, bool at_end) {
  const std::uint64_t told = at_.offset + fed;
  if (at_end) {
    mark_tail(at_.offset, at_.phase);
  }
  if (verdict == Verdict::unfinished) {
    return drop_rest(Damage::Kind::unfinished);
  }
  auto dropped = drop_line(at_.offset, Damage::Kind::malformed);
  if (!dropped || told <= at_.offset) {
    return dropped;
  }
  rescanned_ += told - at_.offset;
  if (rescanned_ <= kRescanFloor + kRescanTimes * window_.end()) {
    return dropped;
  }
  mark_tail(at_.offset, at_.phase);
  tail_->has_records = true;
  return drop_rest(Damage::Kind::too_tangled);
}

// Drops the rest of the line from `from` on.
Result<RecordScanner::Found> RecordScanner::drop_line(std::uint64_t from, Damage::Kind kind) {
  const ScanPoint before = at_;
  at_.offset = from;
  DamageRun run(from);
  ASSIGN_OR_RETURN(auto ended, measure(run, true));
  if (!ended) {
    mark_tail(before.offset, before.phase);
  }
  lose(run, kind, !ended);
  at_.phase = Phase::line_start;
  return Found::nothing;
}

// Drops the rest of the log.
Result<RecordScanner::Found> RecordScanner::drop_rest(Damage::Kind kind) {
  const std::uint64_t last = window_.end() == 0 ? 0 : window_.end() - 1;
  DamageRun run(at_.offset);
  RETURN_IF_ERROR(measure(run, false));
  ASSIGN_OR_RETURN(auto text, window_.view(last, 1));
  lose(run, kind, !text.empty() && text.front() != '\n');
  return Found::end;
}

// Feeds `run` the bytes from at_ to the end of the text, or of the line if `whole_line`. Moves at_ past the line feed
// and returns true if it found one; else moves at_ to the end.
Result<bool> RecordScanner::measure(DamageRun& run, bool whole_line) {
  for (;;) {
    ASSIGN_OR_RETURN(auto text, window_.view(at_.offset, 1));
    if (text.empty()) {
      return false;
    }
    const std::size_t newline = whole_line ? text.find('\n') : std::string_view::npos;
    const std::size_t count = newline == std::string_view::npos ? text.size() : newline;
    run.feed(text.substr(0, count));
    at_.offset += count;
    if (newline != std::string_view::npos) {
      ++at_.offset;
      return true;
    }
  }
}

void RecordScanner::lose(const DamageRun& run, Damage::Kind kind, bool to_end) {
  if (run.is_blank()) {
    return;
  }
  ++losses_.malformed;
  for (Damage& damage : run.runs(kind)) {
    damage.in_progress = to_end;
    losses_.damage.push_back(damage);
  }
}

void RecordScanner::mark_tail(std::uint64_t offset, ScanPoint::Phase phase) {
  if (!tail_) {
    tail_ = Tail{{offset, phase}, losses_.damage.size(), losses_.malformed, false};
  }
}

}  // namespace arborfs::omp
