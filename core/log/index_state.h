// The state of a LogIndex, and how records are added to it. Only for indexes: LogIndex itself and those of formats that
// derive from it. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/log/entry_store.h"
#include "core/log/id_table.h"
#include "core/log/label_map.h"
#include "core/log/log_index.h"
#include "core/log/name_table.h"
#include "core/log/record_counts.h"
#include "core/log/record_fields.h"

namespace arborfs {

/// The damage that a scan found.
struct ScanLosses {
  std::vector<Damage> damage;   // in file order
  std::uint64_t malformed = 0;  // number of malformed records, as the agent counts them
};

/// Where a log that has grown is read on, and what had been found before.
struct ResumePoint {
  std::uint64_t offset = 0;
  std::size_t damage = 0;
  std::uint64_t malformed = 0;
  RecordCounts not_shown;
};

/// The refusal of a log for which IndexState has no room.
inline Error too_many_entries() {
  return {Errc::too_large, "the log has more entries than arborfs can number"};
}

struct IndexState {
  static constexpr Ordinal kMostEntries = 0x7FFFFFFE;  // IdTable stores ordinals in 31 bits

  virtual ~IndexState() = default;
  /// Adds the next record, which must not be the header, as an entry. Call it only while has_room(). `hash` is kept if
  /// has_hashes.
  void admit(const RecordFields& record, std::uint64_t hash);
  /// Sets the header, or replaces it.
  void set_header(Header its_header);
  [[nodiscard]] bool has_room() const { return entries.size() < kMostEntries; }
  /// Call it after the last record.
  void finish();

  DialectNumber dialect = 0;
  Header header;
  std::optional<Ordinal> leaf;     // if it is not the last entry
  std::optional<Ordinal> settled;  // see LogIndex::settled, if it is not all entries
  bool has_hashes = false;
  std::vector<std::uint64_t> hashes;  // of the entries' bytes, if has_hashes
  bool keeps_places = false;          // entries that lie elsewhere in the log are not the same

  EntryStore entries;
  IdTable ids;
  NameTable names;
  LabelMap labels;
  std::unordered_map<Ordinal, std::uint64_t> long_lengths;  // lengths too large for Entry::length
  std::unordered_map<Ordinal, IdHandle> befores;            // of the entries whose records have RecordFields::before
  std::unordered_map<Ordinal, Ordinal> repetitions;         // LogIndex::repeats
  std::vector<std::uint64_t> dropped_values;                // indexes among the values, ascending (omp/FORMAT.md E7)
  std::uint64_t values = 0;                                 // values in the log, including the header
  Ordinal tips = 0;
  Ordinal last_without_id = kNoEntry;
  bool has_duplicates = false;
  std::uint32_t made_ids = 0;  // how many ids were generated (omp/FORMAT.md E9)
  IdHandle last_made = 0;

  ScanLosses losses;
  RecordCounts not_shown;
  ResumePoint resume;  // of a log that only grows
  std::uint64_t scanned_size = 0;

 private:
  void put_ids(const RecordFields& record, Entry& entry);
  void put_name(const RecordFields& record, Entry& entry, Ordinal ordinal);
  void note_repetition(const Entry& entry, Ordinal ordinal);
  void link(const Entry& entry, Ordinal ordinal);
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
inline constexpr std::uint8_t kAside = 16;  // RecordFields::is_aside
}  // namespace entry_flags

/// The value of Entry::length for an entry whose length is in IndexState::long_lengths.
inline constexpr std::uint32_t kLongLength = UINT32_MAX;

}  // namespace arborfs
