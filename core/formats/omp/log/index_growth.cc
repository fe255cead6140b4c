// Growth of an index: resumes where the scan ended, and distinguishes growth from a rewrite (CONTRACT.md 3.2,
// omp/FORMAT.md A5, G9).
#include <algorithm>
#include <string>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/omp/log/omp_index.h"
#include "core/formats/omp/log/omp_index_state.h"

namespace arborfs {

namespace {

constexpr std::size_t kCheckStep = 4096;

// True for a character that may follow the digits of a number without ending it.
bool continues_number(char c) {
  return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

Result<bool> number_goes_on(LogWindow& window, const ScanPoint& point) {
  if (point.phase != ScanPoint::Phase::after_number) {
    return false;
  }
  ASSIGN_OR_RETURN(auto text, window.view(point.offset, 1));
  return !text.empty() && continues_number(text.front());
}

// The header with the slot that is in the log now; nullopt if the line is no longer a slot of the same length.
Result<std::optional<Header>> header_of_changed_slot(LogWindow& window, const OmpIndexState& state) {
  const auto size = static_cast<std::size_t>(state.head.slot_end);
  ASSIGN_OR_RETURN(auto text, window.view(0, size));
  const std::string_view line = text.substr(0, size);
  const auto slot = line.find('\n') == size - 1 ? parse_title_slot_line(line) : std::nullopt;
  if (!slot) {
    return std::optional<Header>();
  }
  if (!state.header.valid) {
    return std::optional<Header>(state.header);
  }
  ASSIGN_OR_RETURN(auto session, read_session_header(window, state.header.offset, state.header.length, slot));
  return std::optional<Header>(std::move(session.header));
}

// Detects records that would change how earlier ones are read.
class ConflictCheck {
 public:
  explicit ConflictCheck(const OmpIndexState& state) : state_(state), made_ids_(state.made_ids) {}

  bool conflicts(const RecordFields& record) {
    if (state_.turns_omp18(record)) {
      return true;
    }
    if (state_.drops(record)) {
      return false;
    }
    if (state_.gives_ids && !record.type.is_string("session")) {
      return state_.ids.find_hex(++made_ids_) != 0;
    }
    if (state_.ids.find(record.id) != 0 || fresh_.find(record.id) != 0) {
      return true;
    }
    fresh_.intern(record.id);
    if (record.parent.is_truthy()) {
      fresh_.intern(record.parent);
    }
    return false;
  }

 private:
  const OmpIndexState& state_;
  IdTable fresh_;  // ids and parents among the new records
  std::uint32_t made_ids_;
};

// True if the bytes that growth does not change are unchanged. If the title slot changed, sets `growth.header`.
Result<bool> is_same_log(LogWindow& window, const OmpIndexState& state, OmpGrowth& growth) {
  ASSIGN_OR_RETURN(const auto now, GrowthFingerprint::of(window, state.head.slot_end, state.tail.resume.offset));
  if (!now.has_same_bytes(state.fingerprint)) {
    return false;
  }
  growth.fingerprint = now;
  if (now.slot != state.fingerprint.slot) {
    ASSIGN_OR_RETURN(growth.header, header_of_changed_slot(window, state));
    return growth.header.has_value();
  }
  ASSIGN_OR_RETURN(const auto goes_on, number_goes_on(window, state.tail.resume));
  return !goes_on;
}

// False if a record conflicts with earlier ones.
Result<bool> read_records(RecordScanner& scanner, const OmpIndexState& state, OmpGrowth& growth) {
  ConflictCheck check(state);
  for (;;) {
    ASSIGN_OR_RETURN(auto record, scanner.next());
    if (record == nullptr) {
      return true;
    }
    const bool has_room = state.entries.size() + growth.records.size() < OmpIndexState::kMostEntries;
    if (!has_room || check.conflicts(*record)) {
      return false;
    }
    growth.records.push_back(with_own_texts(*record, growth.texts));
  }
}

Result<std::optional<std::string>> last_name(LogWindow& window, const std::vector<RecordFields>& records) {
  const auto last = std::find_if(records.rbegin(), records.rend(), OmpIndexState::names_session);
  return last == records.rend() ? Result<std::optional<std::string>>(std::nullopt)
                                : read_session_name(window, last->offset, last->length);
}

// True if the log must be read again from the start, whatever the new bytes are.
bool must_rebuild(const LogSource& log, const OmpIndexState& state, std::uint64_t size) {
  return state.values == 0 || state.tail.has_records || state.head.may_be_slot || size < state.tail.resume.offset ||
         has_lenient_boms(log, size) != has_lenient_boms(log, state.scanned_size);
}

}  // namespace

OmpIndex::OmpIndex(std::unique_ptr<OmpIndexState> state) : LogIndex(std::move(state)) {}

const OmpIndexState& OmpIndex::own() const {
  return static_cast<const OmpIndexState&>(state());
}

Result<std::unique_ptr<LogIndex>> OmpIndex::build(const LogSource& log, const Options& options) {
  ASSIGN_OR_RETURN(const auto size, log.size());
  LogWindow window(log, size, options.cancelled);
  std::unique_ptr<OmpIndexState> state;
  for (const Dialect assumed : {Dialect::omp13, Dialect::omp18}) {
    state = std::make_unique<OmpIndexState>(options.dialect, assumed);
    ASSIGN_OR_RETURN(const auto is_scanned, state->scan(log, window, options.noter));
    if (is_scanned) {
      break;
    }
  }
  return std::unique_ptr<LogIndex>(new OmpIndex(std::move(state)));
}

Result<LogIndex::GrowthPtr> OmpIndex::read_growth(const LogSource& log) const {
  const OmpIndexState& known = own();
  ASSIGN_OR_RETURN(auto size, log.size());
  if (must_rebuild(log, known, size)) {
    return GrowthPtr();
  }
  auto growth = std::make_unique<OmpGrowth>();
  LogWindow checked(log, size, nullptr, kCheckStep);
  ASSIGN_OR_RETURN(auto same, is_same_log(checked, known, *growth));
  if (!same) {
    return GrowthPtr();
  }
  LogWindow window(log, size);
  RecordScanner scanner(window, known.tail.resume, has_lenient_boms(log, size));
  ASSIGN_OR_RETURN(auto read, read_records(scanner, known, *growth));
  if (!read || known.changes_writer(growth->records)) {
    return GrowthPtr();
  }
  ASSIGN_OR_RETURN(growth->name, last_name(window, growth->records));
  growth->tail = scanner.tail();
  growth->losses = scanner.take_losses();
  growth->scanned_size = window.end();
  if (growth->tail.resume.offset == known.tail.resume.offset) {
    return GrowthPtr(std::move(growth));
  }
  // Uses a separate window: the scanner's would read far more of the start of the log than is needed.
  LogWindow marks(log, window.end(), nullptr, kCheckStep);
  ASSIGN_OR_RETURN(auto made, growth->fingerprint.after_growth(marks, known.head.slot_end, growth->tail.resume.offset));
  growth->fingerprint = made;  // with the slot's hash from when the header was read
  return GrowthPtr(std::move(growth));
}

std::vector<Entry> OmpIndex::new_entries(const Growth& growth) const {
  std::vector<Entry> entries;
  for (const RecordFields& record : static_cast<const OmpGrowth&>(growth).records) {
    if (!own().drops(record)) {
      Entry& entry = entries.emplace_back();
      entry.offset = record.offset;
      entry.length = record.length < kLongLength ? static_cast<std::uint32_t>(record.length) : kLongLength;
      entry.type = record.entry_type();
    }
  }
  return entries;
}

void OmpIndex::apply(GrowthPtr read) {
  auto& grown = static_cast<OmpIndexState&>(state());
  auto& growth = static_cast<OmpGrowth&>(*read);
  for (const RecordFields& record : growth.records) {
    grown.take(record);
  }
  grown.labels.settle();
  grown.losses.damage.resize(grown.tail.damage);
  grown.losses.malformed = grown.tail.malformed + growth.losses.malformed;
  growth.tail.damage += grown.tail.damage;
  growth.tail.malformed += grown.tail.malformed;
  grown.losses.damage.insert(grown.losses.damage.end(), growth.losses.damage.begin(), growth.losses.damage.end());
  grown.tail = growth.tail;
  grown.fingerprint = growth.fingerprint;
  grown.scanned_size = growth.scanned_size;
  if (growth.header) {
    grown.header = std::move(*growth.header);
  }
  grown.settle_writer(std::move(growth.name));
}

}  // namespace arborfs
