#include "core/formats/omp/log/omp_index_state.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/formats/omp/log/dialect_hints.h"
#include "core/formats/omp/log/parallel_line_reader.h"

namespace arborfs {

bool OmpIndexState::is_younger(const RecordFields& record) {
  const EntryType type = record.entry_type();
  return is_omp18_type(type) || (record.hints != 0 && has_omp18_key(record.hints, type));
}

Result<bool> OmpIndexState::scan(const LogSource& log, LogWindow& window, ScanObserver* noter) {
  ASSIGN_OR_RETURN(auto found, read_head(window, forced));
  head = found;
  header = missing_header(head.slot.has_value());
  generation = forced ? *forced : head.slot ? Dialect::omp18 : generation;
  std::optional<ParallelLineReader> ahead;
  if (window.end() >= head.slot_end + ParallelLineReader::kHelpsFrom) {
    ahead.emplace(log, head.slot_end, window.end(), window.cancelled(), noter);
  }
  if (noter != nullptr) {
    noter->begin();
  }
  RecordScanner scanner(window, {head.slot_end, ScanPoint::Phase::line_start}, has_lenient_boms(log, window.end()),
                        ahead ? &*ahead : nullptr, noter);
  for (;;) {
    ASSIGN_OR_RETURN(auto record, scanner.next());
    if (record == nullptr) {
      break;
    }
    if (turns_omp18(*record)) {
      if (!dropped_sessions.empty()) {
        return false;
      }
      generation = Dialect::omp18;
    }
    ASSIGN_OR_RETURN(const auto taken, take_first(window, *record));
    if (!taken && take(*record) && noter != nullptr) {
      RETURN_IF_ERROR(noter->take(entries.at(entries.size()), record->length, scanner.notes()));
    }
    if (!has_room()) {
      return too_many_entries();
    }
  }
  tail = scanner.tail();
  losses = scanner.take_losses();
  scanned_size = window.end();
  ASSIGN_OR_RETURN(auto made, GrowthFingerprint::of(window, head.slot_end, tail.resume.offset));
  fingerprint = made;
  finish();
  ASSIGN_OR_RETURN(auto name, last_name(window));
  settle_writer(std::move(name));
  return true;
}

/// The name in the last session_info that was admitted; nothing if there is none.
Result<std::optional<std::string>> OmpIndexState::last_name(LogWindow& window) const {
  if (last_named_ == kNoEntry) {
    return std::optional<std::string>();
  }
  return read_session_name(window, entries.at(last_named_).offset, entries.at(last_named_).length);
}

// True if the record is the log's first value and a valid header.
Result<bool> OmpIndexState::take_first(LogWindow& window, const RecordFields& record) {
  if (values != 0) {
    return false;
  }
  ASSIGN_OR_RETURN(auto session, read_session_header(window, record.offset, record.length, head.slot));
  header = std::move(session.header);
  gives_ids = session.gives_ids;
  values = header.valid ? 1 : 0;
  return header.valid;
}

bool OmpIndexState::take(const RecordFields& record) {
  if (drops(record)) {
    dropped_sessions.push_back(values++);
    not_shown.add("session");
    return false;
  }
  admit(record);
  marks_.note(record, record.entry_type());
  if (names_session(record)) {
    last_named_ = entries.size();
  }
  return true;
}

void OmpIndexState::Marks::note(const RecordFields& record, EntryType type) {
  if (type == EntryType::message) {
    of_pi = of_pi || record.role.is_string("system");
    return;
  }
  of_pi = of_pi || is_pi_type(type) || (record.hints != 0 && has_pi_key(record.hints, type));
  of_omp = of_omp || is_omp_type(type) || (record.hints != 0 && has_omp_key(record.hints, type));
}

// omp/FORMAT.md O2. If nothing else decides, the id does: omp gives UUIDs only with a slot (omp/FORMAT.md F2).
bool OmpIndexState::is_of_pi(const Marks& marks) const {
  if (forced || !header.valid || head.slot || generation == Dialect::omp18) {
    return false;
  }
  const bool has_own_title = !header.title.empty() && !header.is_named;
  return marks.of_pi || (is_uuid(header.id) && !marks.of_omp && !has_own_title);
}

bool OmpIndexState::changes_writer(const std::vector<RecordFields>& records) const {
  Marks marks = marks_;
  for (const RecordFields& record : records) {
    marks.note(record, record.entry_type());
  }
  return is_of_pi(marks) != is_of_pi(marks_);
}

void OmpIndexState::settle_writer(std::optional<std::string> name) {
  const bool is_pis = is_of_pi(marks_);
  dialect = static_cast<DialectNumber>(is_pis ? Dialect::pi : generation);
  header.of_other_agent = is_pis;
  if (is_pis && name) {
    set_name(header, *name);
  }
}

}  // namespace arborfs
