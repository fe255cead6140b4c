// The data that an index of a log of omp or pi keeps in addition to its entries, to recognise growth and the log's
// dialect. Only for the .cc files of OmpIndex. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/log/header.h"
#include "core/formats/omp/log/record_scanner.h"
#include "core/formats/omp/log/session_name.h"
#include "core/log/growth_fingerprint.h"
#include "core/log/index_state.h"

namespace arborfs {

struct OmpIndexState : IndexState {
  OmpIndexState(std::optional<Dialect> forced_dialect, Dialect assumed) : forced(forced_dialect), generation(assumed) {}

  /// Reads the whole log. Returns false if a record of the younger dialect appears after records of type `session` were
  /// dropped: the caller must then scan again with a new state that assumes omp18. `noter` may be null.
  Result<bool> scan(const LogSource& log, LogWindow& window, ScanObserver* noter);
  /// Adds the next record, which must not be the header. False if the record is dropped and makes no entry.
  bool take(const RecordFields& record);

  [[nodiscard]] bool drops(const RecordFields& record) const {
    return header.valid && generation == Dialect::omp13 && record.type.is_string("session");
  }
  [[nodiscard]] bool turns_omp18(const RecordFields& record) const {
    return !forced && generation == Dialect::omp13 && is_younger(record);
  }
  static bool is_younger(const RecordFields& record);
  /// Settles the dialect, and marks the header of a log of pi as such: read-only, with its title. Call it after records
  /// have been taken. `name` comes from the last session_info among them; nothing if there is none.
  void settle_writer(std::optional<std::string> name);
  /// True for a session_info short enough to name the session.
  static bool names_session(const RecordFields& record) {
    return record.entry_type() == EntryType::session_info && record.length <= kLongestNamingEntry;
  }
  /// True if taking in these records would make a log of pi one of omp, or the reverse.
  [[nodiscard]] bool changes_writer(const std::vector<RecordFields>& records) const;

  std::optional<Dialect> forced;
  Dialect generation;  // by whose rules records are taken; settle_writer() may find that the log is pi's
  LogHead head;
  RecordScanner::Tail tail;
  GrowthFingerprint fingerprint;

 private:
  /// The agents whose specific traits the records have.
  struct Marks {
    bool of_pi = false;   // something that only pi writes
    bool of_omp = false;  // something that omp writes and pi does not
    void note(const RecordFields& record, EntryType type);
  };
  [[nodiscard]] bool is_of_pi(const Marks& marks) const;
  Result<std::optional<std::string>> last_name(LogWindow& window) const;
  Result<bool> take_first(LogWindow& window, const RecordFields& record);

  Ordinal last_named_ = kNoEntry;  // the last session_info
  Marks marks_;
};

/// The part of a log after the indexed part.
struct OmpGrowth : LogIndex::Growth {
  std::vector<RecordFields> records;  // their texts are in `texts`
  std::deque<std::string> texts;
  ScanLosses losses;
  RecordScanner::Tail tail;
  GrowthFingerprint fingerprint;
  std::uint64_t scanned_size = 0;
  std::optional<Header> header;     // set if the title slot changed
  std::optional<std::string> name;  // from the last session_info among the records
};

}  // namespace arborfs
