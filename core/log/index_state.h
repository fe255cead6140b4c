// The state of a LogIndex, and how records are added to it. Only for indexes: LogIndex itself and those of formats that
// derive from it. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/log/id_table.h"
#include "core/log/log_index.h"
#include "core/log/log_reader.h"
#include "core/log/record_fields.h"

namespace arborfs {

/// The entries of an index, in chunks, so that adding entries does not copy all earlier ones. References are valid
/// until the next push.
class EntryStore {
 public:
  [[nodiscard]] Ordinal size() const { return size_; }
  [[nodiscard]] const Entry& at(Ordinal ordinal) const {
    return chunks_[(ordinal - 1) / kChunk][(ordinal - 1) % kChunk];
  }
  void push(const Entry& entry) {
    if (chunks_.empty() || chunks_.back().size() == kChunk) {
      chunks_.emplace_back();
    }
    std::vector<Entry>& last = chunks_.back();
    if (last.size() == last.capacity()) {
      last.reserve(std::min<std::size_t>(std::max<std::size_t>(last.size() * 2, kSmallest), kChunk));
    }
    last.push_back(entry);
    ++size_;
  }
  void shrink() {
    if (!chunks_.empty()) {
      chunks_.back().shrink_to_fit();
    }
  }
  [[nodiscard]] std::size_t memory_bytes() const {
    std::size_t bytes = chunks_.capacity() * sizeof(chunks_[0]);
    for (const auto& chunk : chunks_) {
      bytes += chunk.capacity() * sizeof(Entry);
    }
    return bytes;
  }

 private:
  static constexpr std::size_t kChunk = 8192;
  static constexpr std::size_t kSmallest = 16;
  std::vector<std::vector<Entry>> chunks_;
  Ordinal size_ = 0;
};

/// The words used in entries' names - roles and types - each stored once.
class NameTable {
 public:
  /// The value of Entry::name for the word of entry `ordinal`. After 65,535 words, each new one is stored per entry.
  std::uint16_t intern(std::string_view word, Ordinal ordinal);
  [[nodiscard]] std::string_view get(std::uint16_t handle, Ordinal ordinal) const;
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  static constexpr std::uint16_t kOwnWord = 0xFFFF;
  std::map<std::string, std::uint16_t, std::less<>> handles_;
  std::vector<const std::string*> words_;  // keys of handles_
  std::unordered_map<Ordinal, std::string> own_words_;
};

/// The labels in effect, in the order of a JavaScript Map: setting a label again keeps its place; deleting and setting
/// it moves it to the end (omp/FORMAT.md C6, C7).
class LabelMap {
 public:
  /// Applies a label entry.
  void take(const RecordFields& record, Ordinal ordinal);
  /// Closes the gaps that deletions left. Call it after take() and before labels().
  void settle();
  [[nodiscard]] const std::vector<Label>& labels() const { return labels_; }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  std::vector<Label> labels_;  // set_by is kNoEntry for labels deleted since settle()
  std::unordered_map<std::string, std::size_t> places_;
  std::size_t gaps_ = 0;
};

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

  const LogReader* role_reader = nullptr;  // knows the agent's words for roles; never null in a LogIndex
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
  std::vector<Label> with_noted;                            // labels, and those of LogIndex::note_labels
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
