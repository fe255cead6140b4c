#include "core/formats/omp/log/record_scanner.h"

#include <algorithm>
#include <cstring>

#include "core/base/result_macros.h"

namespace arborfs {

namespace {

using Phase = ScanPoint::Phase;
using Verdict = json::ValueScanner::Verdict;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::uint64_t kStreamedFrom = 8 * 1024 * 1024;
constexpr std::size_t kFirstLook = 16 * 1024;  // enough for most lines

// In a hostile log, each line may make the scanner read all lines after it and then read them again. The scan gives up
// when the bytes read again exceed kRescanFloor + kRescanTimes * the size of the log.
constexpr std::uint64_t kRescanFloor = 64 * 1024 * 1024;
constexpr std::uint64_t kRescanTimes = 8;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::size_t find_newline(std::string_view text) {
  const void* found = text.empty() ? nullptr : std::memchr(text.data(), '\n', text.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::string_view without_space_at_end(std::string_view text) {
  while (!text.empty() && is_space(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace

bool has_lenient_boms(const LogSource& log, std::uint64_t size) {
  return !log.is_decoded() && size >= kStreamedFrom;
}

RecordScanner::RecordScanner(LogWindow& window, ScanPoint start, bool bom_on_any_line, ParallelLineReader* ahead,
                             const ScanObserver* noter)
    : window_(window),
      at_(start),
      bom_on_any_line_(bom_on_any_line),
      ahead_(ahead),
      fast_(noter),
      scanner_(&observed_) {}

Result<const RecordFields*> RecordScanner::next() {
  notes_ = nullptr;
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
    case Phase::line_start:
      return take_line_ahead() ? Result<Found>(Found::record) : find_value();
    case Phase::before_value:
      return find_value();
    default:
      return end_line();
  }
}

// Takes the line from the read-ahead, if it is there.
bool RecordScanner::take_line_ahead() {
  const ParallelLineReader::Line* line = ahead_ == nullptr ? nullptr : ahead_->line_at(at_.offset);
  if (line == nullptr) {
    return false;
  }
  record_ = line->record;
  notes_ = line->notes.get();
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
  std::size_t skipped = 0;
  while (skipped < text.size() && is_space((text)[skipped])) {
    ++skipped;
    if ((text)[skipped - 1] == '\n') {
      at_ = {at_.offset + skipped, Phase::line_start};
      return Found::nothing;
    }
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
    const auto rest = std::find_if_not(text.begin(), text.end(), [](char c) { return c != '\n' && is_space(c); });
    offset += static_cast<std::uint64_t>(rest - text.begin());
    if (rest == text.end()) {
      continue;
    }
    if (*rest == '\n') {
      at_ = {offset + 1, Phase::line_start};
      return Found::nothing;
    }
    return drop_line(at_.offset, Damage::Kind::fused);
  }
}

Result<RecordScanner::Found> RecordScanner::read_value() {
  ASSIGN_OR_RETURN(auto fast, read_fast());
  return fast ? Result<Found>(Found::record) : read_slowly();
}

// Reads a line that is exactly one value in the usual form; false if it is not.
Result<bool> RecordScanner::read_fast() {
  for (std::size_t want = 1;; want = std::max(want * 4, kFirstLook)) {
    ASSIGN_OR_RETURN(auto text, window_.view(at_.offset, want));
    if (text.front() != '{' && text.front() != '[') {
      return false;
    }
    const std::size_t newline = find_newline(text);
    const bool at_end = at_.offset + text.size() >= window_.end();
    if (newline == std::string_view::npos && !at_end && want < SimdRecordParser::kMaxLine) {
      continue;
    }
    const std::string_view value = without_space_at_end(text.substr(0, newline));
    if ((newline == std::string_view::npos && !at_end) || value.size() > SimdRecordParser::kMaxLine ||
        !fast_.parse(value, record_)) {
      return false;
    }
    own_notes_ = fast_.take_notes();
    notes_ = own_notes_.get();
    record_.offset = at_.offset;
    record_.length = value.size();
    at_ = newline == std::string_view::npos ? ScanPoint{at_.offset + value.size(), Phase::after_value}
                                            : ScanPoint{at_.offset + newline + 1, Phase::line_start};
    return true;
  }
}

Result<RecordScanner::Found> RecordScanner::read_slowly() {
  scanner_.reset();
  observed_.reset();
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
  ASSIGN_OR_RETURN(record_, observed_.finish(window_, at_.offset, scanner_.length()));
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
    const std::size_t newline = whole_line ? find_newline(text) : std::string_view::npos;
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

}  // namespace arborfs
