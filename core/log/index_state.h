// The state of a LogIndex, and how records are added to it. Only for the .cc files of the index. Not thread-safe.
#pragma once

#include <atomic>
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
#include "core/log/session_name.h"

namespace arborfs {

/// Hashes of bytes that growth does not change, to distinguish growth from a rewrite.
struct Fingerprint {
  std::uint64_t slot = 0;      // the title slot's line; only this may change in place (omp/FORMAT.md E4)
  std::uint64_t head_end = 0;  // the head: from the slot to here
  std::uint64_t head = 0;
  std::uint64_t tail_from = 0;  // the tail: from here to where the scan resumes
  std::uint64_t tail = 0;
};
Result<Fingerprint> take_fingerprint(LogWindow& window, std::uint64_t slot_end, std::uint64_t resume);
/// The same for a log that has grown since `before`: does not read again what cannot have changed. Keeps the slot's
/// hash of `before`.
Result<Fingerprint> fingerprint_of_growth(LogWindow& window, std::uint64_t slot_end, std::uint64_t resume,
                                          const Fingerprint& before);

struct IndexState {
  IndexState(std::optional<Dialect> forced_dialect, Dialect assumed) : forced(forced_dialect), dialect(assumed) {}

  /// Reads the whole log. Returns false if a record of the younger dialect appears after records of type `session` were
  /// dropped: the caller must then scan again with a new state that assumes omp18. `noter` may be null.
  Result<bool> scan(const LogSource& log, LogWindow& window, ScanObserver* noter);
  /// Reads the whole log of another agent; `size` is its size before that. Errors: those of the reader.
  Result<void> read(const LogSource& log, std::uint64_t size, const RecordReader& reader,
                    const std::atomic<bool>* cancelled);
  /// Adds the next record, which must not be the header. False if the record is dropped and makes no entry.
  bool admit(const RecordFields& record);

  [[nodiscard]] bool drops(const RecordFields& record) const {
    return header.valid && dialect == Dialect::omp13 && record.type.is_string("session");
  }
  [[nodiscard]] bool turns_omp18(const RecordFields& record) const {
    return !forced && dialect == Dialect::omp13 && is_younger(record);
  }
  static bool is_younger(const RecordFields& record);
  /// Marks the header of a log of pi as such: read-only, with its title. Call it after records have been admitted.
  /// `name` comes from the last session_info among them; nothing if there is none.
  void settle_writer(std::optional<std::string> name);
  /// The dialect according to the records admitted so far.
  [[nodiscard]] Dialect settled_dialect() const { return is_of_pi(marks_) ? Dialect::pi : dialect; }
  /// True for a session_info short enough to name the session.
  static bool names_session(const RecordFields& record) {
    return record.entry_type() == EntryType::session_info && record.length <= kLongestNamingEntry;
  }
  /// True if taking in these records would make a log of pi one of omp, or the reverse.
  [[nodiscard]] bool changes_writer(const std::vector<RecordFields>& records) const;

  std::optional<Dialect> forced;
  Dialect dialect;
  LogHead head;
  Header header;
  bool gives_ids = false;
  bool is_of_reader = false;          // read() made it
  std::optional<Ordinal> leaf;        // if it is not the last entry
  std::vector<std::uint64_t> hashes;  // of the entries that read() found

  EntryStore entries;
  IdTable ids;
  NameTable names;
  LabelMap labels;
  std::unordered_map<Ordinal, std::uint64_t> long_lengths;  // lengths too large for Entry::length
  std::vector<std::uint64_t> dropped_sessions;              // indexes among the values, ascending (omp/FORMAT.md E7)
  std::uint64_t values = 0;                                 // values in the log, including the header
  Ordinal tips = 0;
  Ordinal last_without_id = kNoEntry;
  bool has_duplicates = false;
  std::uint32_t made_ids = 0;  // how many ids were generated (omp/FORMAT.md E9)
  IdHandle last_made = 0;

  ScanLosses losses;
  RecordScanner::Tail tail;
  Fingerprint fingerprint;
  std::uint64_t scanned_size = 0;

 private:
  /// Which agents' own traits the records have.
  struct Marks {
    bool of_pi = false;   // something that only pi writes
    bool of_omp = false;  // something that omp writes and pi does not
    void note(const RecordFields& record, EntryType type);
  };
  [[nodiscard]] bool is_of_pi(const Marks& marks) const;
  Result<std::optional<std::string>> last_name(LogWindow& window) const;
  void finish();
  Result<bool> take_first(LogWindow& window, const RecordFields& record);
  Result<void> note(ScanObserver& noter, const RecordFields& record, const ScanNotes* notes) const;
  void put_ids(const RecordFields& record, Entry& entry);
  void put_name(const RecordFields& record, Entry& entry, Ordinal ordinal);
  void link(const Entry& entry, Ordinal ordinal);

  Ordinal last_named_ = kNoEntry;  // the last session_info
  Marks marks_;
};

struct LogIndex::Impl : IndexState {
  using IndexState::IndexState;
};

class LogIndex::Growth {
 public:
  std::vector<RecordFields> records;  // their texts are in `texts`
  std::deque<std::string> texts;
  ScanLosses losses;
  RecordScanner::Tail tail;
  Fingerprint fingerprint;
  std::uint64_t scanned_size = 0;
  std::optional<Header> header;     // set if the title slot changed
  std::optional<std::string> name;  // from the last session_info among the records
};

/// Entry::flags. The low bits keep the falsy parent value of a root, because a root stores no parent id.
namespace entry_flags {
inline constexpr std::uint8_t kRootWord = 7;  // mask of the next five
inline constexpr std::uint8_t kParentMissing = 0;
inline constexpr std::uint8_t kParentNull = 1;
inline constexpr std::uint8_t kParentEmpty = 2;
inline constexpr std::uint8_t kParentZero = 3;
inline constexpr std::uint8_t kParentFalse = 4;
inline constexpr std::uint8_t kAssistant = 8;
}  // namespace entry_flags

/// The value of Entry::length for an entry whose length is in IndexState::long_lengths.
inline constexpr std::uint32_t kLongLength = UINT32_MAX;

}  // namespace arborfs
