#include "core/formats/omp/log/reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/formats/omp/log/header.h"
#include "core/formats/omp/log/record_scanner.h"
#include "core/log/record_reader.h"

namespace arborfs::omp {

namespace {

constexpr std::uint64_t kHeadLimit = 1024 * 1024;  // how far read_header reads
constexpr std::size_t kHeadStep = 4096;

/// True for a character that may follow the digits of a number without ending it.
bool continues_number(char c) {
  return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

/// True for a record of the younger generation of omp.
bool is_younger(const RecordFields& record) {
  const EntryType type = record.entry_type();
  return is_omp18_type(type) || (record.hints != 0 && has_omp18_key(record.hints, type));
}

/// True for a session_info short enough to name the session.
bool names_session(const RecordFields& record) {
  return record.entry_type() == EntryType::session_info && record.length <= kLongestNamingEntry;
}

/// The agents whose specific traits the records have.
struct WriterMarks {
  bool of_pi = false;   // something that only pi writes
  bool of_omp = false;  // something that omp writes and pi does not

  void note(const RecordFields& record) {
    const EntryType type = record.entry_type();
    if (type == EntryType::message) {
      of_pi = of_pi || record.role.is_string("system");
      return;
    }
    of_pi = of_pi || is_pi_type(type) || (record.hints != 0 && has_pi_key(record.hints, type));
    of_omp = of_omp || is_omp_type(type) || (record.hints != 0 && has_omp_key(record.hints, type));
  }
};

/// Finds the log's dialect while it reads the log as leniently as the agents do (omp/FORMAT.md A5, E7, G9, J3).
class Scan final : public LogScan {
 public:
  Scan(std::optional<Dialect> forced, Dialect assumed) : forced_(forced), generation_(forced.value_or(assumed)) {}

  [[nodiscard]] std::unique_ptr<LogScan> copy() const override { return std::make_unique<Scan>(*this); }
  Result<bool> read(const LogSource& log, std::uint64_t size, RecordSink& sink, const std::stop_token& stop) override;
  Result<bool> can_go_on(const LogSource& log, LogWindow& window, bool has_new_slot) override;
  [[nodiscard]] std::uint64_t slot_end() const override { return head_.slot_end; }
  /// With the rules of the younger generation, whose first record came too late for those before it.
  [[nodiscard]] std::unique_ptr<LogScan> restarted() const override {
    return std::make_unique<Scan>(forced_, Dialect::omp18);
  }

 private:
  Result<void> begin(LogWindow& window, RecordSink& sink);
  Result<bool> take_new_slot(LogWindow& window);
  Result<bool> take_records(RecordScanner& scanner, LogWindow& window, RecordSink& sink);
  Result<bool> is_header(LogWindow& window, const RecordFields& record, RecordSink& sink);
  bool turns(const RecordFields& record);
  [[nodiscard]] bool drops(const RecordFields& record) const {
    return header_.valid && generation_ == Dialect::omp13 && record.type.is_string("session");
  }
  [[nodiscard]] bool is_of_pi() const;
  Result<void> settle_writer(LogWindow& window, RecordSink& sink);

  std::optional<Dialect> forced_;
  Dialect generation_;  // by whose rules records are taken; the log may turn out to be pi's
  LogHead head_;
  Header header_;
  RecordScanner::Tail tail_;
  WriterMarks marks_;
  bool bom_on_any_line_ = false;
  bool has_begun_ = false;                                         // a log that has grown is read on
  bool has_values_ = false;                                        // the header or a record was read
  bool has_dropped_ = false;                                       // records of the type `session` were dropped
  std::optional<std::pair<std::uint64_t, std::uint64_t>> naming_;  // place of the last session_info of this reading
};

Result<bool> Scan::read(const LogSource& log, std::uint64_t size, RecordSink& sink, const std::stop_token& stop) {
  LogWindow window(log, size, stop);
  naming_.reset();
  const bool was_of_pi = header_.of_other_agent;
  if (!has_begun_) {
    bom_on_any_line_ = has_lenient_boms(log, size);
    RETURN_IF_ERROR(begin(window, sink));
  }
  RecordScanner scanner(window, tail_.resume, bom_on_any_line_, &log);
  ASSIGN_OR_RETURN(const bool is_taken, take_records(scanner, window, sink));
  if (!is_taken || (has_begun_ && is_of_pi() != was_of_pi)) {
    return false;
  }
  tail_ = scanner.tail();
  const ScanLosses& losses = scanner.losses();
  const auto places = std::span<const Damage>(losses.damage);
  sink.add_damage(places.first(tail_.damage), tail_.malformed);
  sink.set_resume(tail_.resume.offset);
  sink.add_damage(places.subspan(tail_.damage), losses.malformed - tail_.malformed);
  RETURN_IF_ERROR(settle_writer(window, sink));
  has_begun_ = true;
  return true;
}

Result<void> Scan::begin(LogWindow& window, RecordSink& sink) {
  ASSIGN_OR_RETURN(head_, read_head(window, forced_));
  generation_ = !forced_ && head_.slot ? Dialect::omp18 : generation_;
  header_ = missing_header(head_.slot.has_value());
  sink.set_header(header_);
  tail_.resume = {head_.slot_end, ScanPoint::Phase::line_start};
  return {};
}

/// False if a record shows that earlier ones must be read by other rules.
Result<bool> Scan::take_records(RecordScanner& scanner, LogWindow& window, RecordSink& sink) {
  for (;;) {
    ASSIGN_OR_RETURN(const auto* const record, scanner.next());
    if (record == nullptr) {
      return true;
    }
    if (turns(*record)) {
      return false;
    }
    ASSIGN_OR_RETURN(const bool is_first, is_header(window, *record, sink));
    has_values_ = true;
    if (is_first) {
      continue;
    }
    if (drops(*record)) {
      has_dropped_ = true;
      sink.drop_value("session");
      continue;
    }
    RETURN_IF_ERROR(sink.add(*record, 0));
    marks_.note(*record);
    if (names_session(*record)) {
      naming_ = {record->offset, record->length};
    }
  }
}

/// Turns to the rules of the younger generation if a record is of it; true if it is too late for that.
bool Scan::turns(const RecordFields& record) {
  if (forced_ || generation_ != Dialect::omp13 || !is_younger(record)) {
    return false;
  }
  generation_ = Dialect::omp18;
  return has_begun_ || has_dropped_;
}

/// True if the record is the log's first value and a valid header.
Result<bool> Scan::is_header(LogWindow& window, const RecordFields& record, RecordSink& sink) {
  if (has_values_) {
    return false;
  }
  ASSIGN_OR_RETURN(header_, read_session_header(window, record.offset, record.length, head_.slot));
  sink.set_header(header_);
  return header_.valid;
}

/// omp/FORMAT.md O2. If nothing else decides, the id does: omp gives UUIDs only with a slot (omp/FORMAT.md F2).
bool Scan::is_of_pi() const {
  if (forced_ || !header_.valid || head_.slot || generation_ == Dialect::omp18) {
    return false;
  }
  const bool has_own_title = !header_.title.empty() && !header_.is_named;
  return marks_.of_pi || (is_uuid(header_.id) && !marks_.of_omp && !has_own_title);
}

/// Settles the dialect, and gives the header of a log of pi its title.
Result<void> Scan::settle_writer(LogWindow& window, RecordSink& sink) {
  header_.of_other_agent = is_of_pi();
  sink.set_dialect(static_cast<DialectNumber>(header_.of_other_agent ? Dialect::pi : generation_));
  if (header_.of_other_agent && naming_) {
    ASSIGN_OR_RETURN(const auto name, read_session_name(window, naming_->first, naming_->second));
    if (name) {
      set_name(header_, *name);
    }
  }
  sink.set_header(header_);
  return {};
}

Result<bool> Scan::can_go_on(const LogSource& log, LogWindow& window, bool has_new_slot) {
  if (!has_values_ || tail_.has_records || head_.may_be_slot ||
      has_lenient_boms(log, window.end()) != bom_on_any_line_) {
    return false;
  }
  if (has_new_slot) {
    return take_new_slot(window);
  }
  if (tail_.resume.phase != ScanPoint::Phase::after_number) {
    return true;
  }
  ASSIGN_OR_RETURN(const auto text, window.view(tail_.resume.offset, 1));
  return text.empty() || !continues_number(text.front());
}

/// Reads the header anew, with the slot that is in the log now; false if that line is no longer a slot of the same
/// length.
Result<bool> Scan::take_new_slot(LogWindow& window) {
  const auto size = static_cast<std::size_t>(head_.slot_end);
  ASSIGN_OR_RETURN(const auto text, window.view(0, size));
  const std::string_view line = text.substr(0, size);
  head_.slot = line.find('\n') == size - 1 ? parse_title_slot_line(line) : std::nullopt;
  if (head_.slot && header_.valid) {
    ASSIGN_OR_RETURN(header_, read_session_header(window, header_.offset, header_.length, head_.slot));
  }
  return head_.slot.has_value();
}

class Reader final : public GrowingReader {
 public:
  explicit Reader(std::optional<Dialect> forced) : forced_(forced) {}

  [[nodiscard]] Result<Header> read_header(const LogSource& log) const override {
    return omp::read_header(log, forced_);
  }
  [[nodiscard]] std::unique_ptr<LogScan> start_scan() const override {
    return std::make_unique<Scan>(forced_, Dialect::omp13);
  }
  /// The scan finds the header.
  [[nodiscard]] Result<Header> first_header(const LogSource& /*log*/) const override { return Header(); }
  [[nodiscard]] Result<Header> grown_header(const LogSource& /*log*/, const Header& before,
                                            std::uint64_t /*settled*/) const override {
    return before;
  }
  [[nodiscard]] bool hashes_entries() const override { return false; }
  /// No earlier name, and no entries that only pi or omp writes, can be seen in the head.
  void keep_findings(const Header& before, Header& header) const override {
    if (before.is_named && !header.is_named && header.title.empty()) {
      set_name(header, before.title);
    }
    if (before.has_slot == header.has_slot && before.length == header.length) {
      header.of_other_agent = before.of_other_agent;
    }
  }
  [[nodiscard]] std::string_view role_of(std::string_view word) const override {
    if (word == "toolResult") {
      return "tool";
    }
    if (word == "compactionSummary" || word == "branchSummary") {
      return "summary";
    }
    return word == "developer" ? "system" : word;
  }
  [[nodiscard]] std::string_view dialect_name(DialectNumber dialect) const override {
    switch (Dialect{dialect}) {
      case Dialect::omp13:
        return "13";
      case Dialect::omp18:
        return "18";
      default:
        return "pi";
    }
  }

 private:
  const std::optional<Dialect> forced_;
};

}  // namespace

const LogReader& reader(std::optional<Dialect> forced) {
  static const Reader chosen(std::nullopt);
  static const std::array forced_to{Reader(Dialect::omp13), Reader(Dialect::omp18), Reader(Dialect::pi)};
  return forced ? forced_to[static_cast<std::size_t>(*forced)] : chosen;
}

Result<Header> read_header(const LogSource& log, std::optional<Dialect> dialect) {
  // Decoded text has its own size; for a file, the size from its stat when it was opened is used.
  ASSIGN_OR_RETURN(const auto size, log.is_decoded() ? log.size() : Result<std::uint64_t>(log.opened().size));
  LogWindow window(log, std::min(size, kHeadLimit), {}, kHeadStep);
  ASSIGN_OR_RETURN(auto head, read_head(window, dialect));
  RecordScanner scanner(window, {head.slot_end, ScanPoint::Phase::line_start}, has_lenient_boms(log, size), nullptr);
  ASSIGN_OR_RETURN(const auto record, scanner.next());
  if (record == nullptr) {
    Header missing = missing_header(head.slot.has_value());
    if (size > kHeadLimit) {
      missing.problem = "the first MiB of the log has no record";
    }
    return missing;
  }
  ASSIGN_OR_RETURN(auto header, read_session_header(window, record->offset, record->length, head.slot));
  if (!dialect && !head.slot && header.valid && header.title.empty() && is_uuid(header.id)) {
    header.of_other_agent = true;
    ASSIGN_OR_RETURN(const auto name, find_session_name(log));
    if (name) {
      set_name(header, *name);
    }
  }
  return header;
}

}  // namespace arborfs::omp
