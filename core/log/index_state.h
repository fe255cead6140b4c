// What a LogIndex knows, and how records enter it; for the .cc files of the index only. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/log/entry_store.h"
#include "core/log/header.h"
#include "core/log/id_table.h"
#include "core/log/label_map.h"
#include "core/log/log_index.h"
#include "core/log/name_table.h"
#include "core/log/record_fields.h"
#include "core/log/record_scanner.h"

namespace arborfs {

/// Hashes of bytes that growth leaves as they are, for telling growth from a rewrite.
struct Fingerprint {
  std::uint64_t slot = 0;      // of the title slot's line, which alone may change in place (omp/FORMAT.md E4)
  std::uint64_t head_end = 0;  // the head: from the slot to here
  std::uint64_t head = 0;
  std::uint64_t tail_from = 0;  // the tail: from here to where the scan resumes
  std::uint64_t tail = 0;
};
Result<Fingerprint> take_fingerprint(LogWindow& window, std::uint64_t slot_end, std::uint64_t resume);
/// The same of a log that has grown since `before`: what cannot have changed is not read again. The slot's stays.
Result<Fingerprint> fingerprint_of_growth(LogWindow& window, std::uint64_t slot_end, std::uint64_t resume,
                                          const Fingerprint& before);

struct IndexState {
  IndexState(std::optional<Dialect> forced_dialect, Dialect assumed) : forced(forced_dialect), dialect(assumed) {}

  /// Reads the whole log. False when it turns out to be of the younger dialect after sessions' records were dropped:
  /// it must then be read anew under that assumption. `noter` may be null.
  Result<bool> scan(const LogFile& log, LogWindow& window, ScanObserver* noter);
  /// Takes in the next record, the header excepted. False when it becomes no entry.
  bool admit(const RecordFields& record);

  [[nodiscard]] bool drops(const RecordFields& record) const {
    return header.valid && dialect == Dialect::omp13 && record.type.is_string("session");
  }
  [[nodiscard]] bool turns_omp18(const RecordFields& record) const {
    return !forced && dialect == Dialect::omp13 && is_younger(record);
  }
  static bool is_younger(const RecordFields& record);
  /// Says in the header that the log is pi's, or says so no more. To be called when records have been admitted.
  void settle_writer();

  std::optional<Dialect> forced;
  Dialect dialect;
  LogHead head;
  Header header;
  bool gives_ids = false;

  EntryStore entries;
  IdTable ids;
  NameTable names;
  LabelMap labels;
  std::unordered_map<Ordinal, std::uint64_t> long_lengths;  // that Entry::length cannot hold
  std::vector<std::uint64_t> dropped_sessions;              // places among the values, ascending (omp/FORMAT.md E7)
  std::uint64_t values = 0;                                 // of the log, the header included
  Ordinal tips = 0;
  Ordinal last_without_id = kNoEntry;
  bool has_duplicates = false;
  std::uint32_t made_ids = 0;  // how many were given (omp/FORMAT.md E9)
  IdHandle last_made = 0;

  ScanLosses losses;
  RecordScanner::Tail tail;
  Fingerprint fingerprint;
  std::uint64_t scanned_size = 0;

 private:
  void note_writer(const RecordFields& record, EntryType type);
  [[nodiscard]] bool is_of_pi() const;
  Result<bool> take_first(LogWindow& window, const RecordFields& record);
  Result<void> note(ScanObserver& noter, const RecordFields& record, const ScanNotes* notes) const;
  void put_ids(const RecordFields& record, Entry& entry);
  void put_name(const RecordFields& record, Entry& entry, Ordinal ordinal);
  void link(const Entry& entry, Ordinal ordinal);

  bool has_pi_marks_ = false;   // what only pi writes
  bool has_omp_marks_ = false;  // what omp writes and pi does not
};

struct LogIndex::Impl : IndexState {
  using IndexState::IndexState;
};

class LogIndex::Growth {
 public:
  std::vector<RecordFields> records;  // texts in `texts`
  std::deque<std::string> texts;
  ScanLosses losses;
  RecordScanner::Tail tail;
  Fingerprint fingerprint;
  std::uint64_t scanned_size = 0;
  std::optional<Header> header;  // when the title slot changed
};

/// Entry::flags. Why an entry is a root by its own word, for the parent's id is not stored then.
namespace entry_flags {
inline constexpr std::uint8_t kRootWord = 7;  // mask of the next five
inline constexpr std::uint8_t kParentMissing = 0;
inline constexpr std::uint8_t kParentNull = 1;
inline constexpr std::uint8_t kParentEmpty = 2;
inline constexpr std::uint8_t kParentZero = 3;
inline constexpr std::uint8_t kParentFalse = 4;
inline constexpr std::uint8_t kAssistant = 8;
}  // namespace entry_flags

/// An Entry::length that stands in IndexState::long_lengths.
inline constexpr std::uint32_t kLongLength = UINT32_MAX;

}  // namespace arborfs
