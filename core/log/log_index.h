// The compact index of one session log: where each record lies, what it is, who its parent is. No text in memory;
// about 32 bytes an entry plus its id (CONTRACT.md 6.12).
//
// An index only ever grows. Whatever cannot be told as growth - a rewrite, a truncation, a change of the rules under
// which earlier entries were read - makes a new index. Not thread-safe: its owner (session/session.h) guards it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/log/log_file.h"

namespace arborfs {

/// An entry's place in the log, from 1, in file order.
using Ordinal = std::uint32_t;
inline constexpr Ordinal kNoEntry = 0;

/// Which generation's rules a log is read by (CONTRACT.md 6.2, omp/FORMAT.md J3).
enum class Dialect : std::uint8_t { omp13, omp18 };

enum class EntryType : std::uint8_t {
  none,  // a record without a string `type`, scalars included
  message,
  compaction,
  branch_summary,
  custom_message,
  custom,
  label,
  model_change,
  thinking_level_change,
  service_tier_change,
  mode_change,
  ttsr_injection,
  mcp_tool_selection,
  session_init,
  title_change,
  model_usage,
  credential_pin,
  reset_boundary,
  session,
  other,
};

/// An id as JSON has it: 5 and "5" differ, 5.0 and 5 do not (omp/FORMAT.md C2).
struct EntryId {
  enum class Kind : std::uint8_t { missing, string, other } kind = Kind::missing;
  std::string text;  // the string (WTF-8), or the canonical JSON text of another value
  bool operator==(const EntryId&) const = default;
};

/// One entry. Offsets and lengths are those of the JSON value in the log, white space around it not counted.
struct Entry {
  static constexpr std::int64_t kNoTime = INT64_MIN;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;  // 0xFFFFFFFF: longer than that; see LogIndex::length
  std::uint32_t id = 0;      // handle of the index's id table; 0: no id
  std::uint32_t parent = 0;  // handle of the parent's id; 0: a root by its own word (omp/FORMAT.md C3)
  std::uint16_t name = 0;    // handle of the stem's word: the role of a message, else the type
  EntryType type = EntryType::none;
  std::uint8_t flags = 0;
  std::int64_t timestamp_ms = kNoTime;
};
static_assert(sizeof(Entry) == 32);

/// Bytes of the log that are no entry, one run (omp/FORMAT.md A3 to A6). `in_progress`: the unterminated end of the
/// log.
struct Damage {
  enum class Kind : std::uint8_t { malformed, fused, nul, unfinished, too_tangled };
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  Kind kind = Kind::malformed;
  bool in_progress = false;
};
std::string_view damage_word(Damage::Kind kind);  // "malformed", "fused", ...

/// A label in force (omp/FORMAT.md C6 to C8), in the order of JavaScript's Map.
struct Label {
  EntryId target;
  std::string text;  // as shown; the JSON text when it is no string
  Ordinal set_by = kNoEntry;
};

/// What the log says of the session itself.
struct Header {
  bool valid = false;            // omp/FORMAT.md A12
  std::string problem;           // why not, or why it is not written to though it is, in words
  bool has_slot = false;         // an 18 title slot stands before it
  bool migrated = false;         // versions 1 and 2, in memory (omp/FORMAT.md E8)
  bool writable_version = true;  // false above 3, and for logs of pi
  std::string json;              // JSON.stringify of the header after slot and migration; "" when invalid
  std::string id;
  std::string cwd;
  std::string title;  // in force: slot, else header
  std::string parent_session;
  std::string timestamp;
  std::uint64_t offset = 0;  // of the header's value in the log
  std::uint64_t length = 0;
};

/// Reads just the head of a log as it was opened (4 KiB; up to 1 MiB where the first value is long or late). Same
/// result as the header of the full index. Errors: io.
Result<Header> read_header(const LogFile& log, std::optional<Dialect> dialect = std::nullopt);

class ScanObserver;

class LogIndex {
 public:
  struct Options {
    std::optional<Dialect> dialect;                // forced for conformance tests; else chosen per log
    const std::atomic<bool>* cancelled = nullptr;  // checked now and then; gives `interrupted`
    ScanObserver* noter = nullptr;                 // told of every entry; see scan_observer.h
  };
  /// Scans the log from its first byte to its present end. Errors: io, interrupted, those of the noter.
  static Result<std::unique_ptr<LogIndex>> build(const LogFile& log, const Options& options);
  static Result<std::unique_ptr<LogIndex>> build(const LogFile& log) { return build(log, Options{}); }
  ~LogIndex();
  LogIndex(const LogIndex&) = delete;
  LogIndex& operator=(const LogIndex&) = delete;

  /// What the log has more than the index. Computed without changing the index, so that readers go on meanwhile.
  class Growth;
  struct GrowthDeleter {
    void operator()(Growth*) const;
  };
  using GrowthPtr = std::unique_ptr<Growth, GrowthDeleter>;
  /// Reads on from where the scan ended. Null when earlier entries would read differently now: the last known bytes
  /// changed, the dialect changed, a new id is a duplicate or is the missing parent of an earlier entry. Then build().
  [[nodiscard]] Result<GrowthPtr> read_growth(const LogFile& log) const;
  /// Where the entries that `growth` brings lie and what they are; ids, parents and times are left out.
  [[nodiscard]] std::vector<Entry> new_entries(const Growth& growth) const;
  void apply(GrowthPtr growth);

  [[nodiscard]] Dialect dialect() const;
  [[nodiscard]] const Header& header() const;
  /// Version 1: ids and parents are made up, those in the log do not count (omp/FORMAT.md E9).
  [[nodiscard]] bool gives_ids() const;
  /// Bytes of the log covered by the scan.
  [[nodiscard]] std::uint64_t scanned_size() const;
  /// Number of entries; ordinals are 1 to size().
  [[nodiscard]] Ordinal size() const;
  [[nodiscard]] const Entry& entry(Ordinal ordinal) const;
  [[nodiscard]] std::uint64_t length(Ordinal ordinal) const;
  [[nodiscard]] EntryId id(Ordinal ordinal) const;
  [[nodiscard]] EntryId parent_id(Ordinal ordinal) const;
  /// The stem's word: role of a message, type of another entry, "value" for none (CONTRACT.md 2.2).
  [[nodiscard]] std::string_view name(Ordinal ordinal) const;
  [[nodiscard]] std::string_view type_text(Ordinal ordinal) const;
  [[nodiscard]] bool is_assistant(Ordinal ordinal) const;

  /// The last entry with this id (omp/FORMAT.md C2), or kNoEntry.
  [[nodiscard]] Ordinal find(const EntryId& id) const;
  [[nodiscard]] Ordinal find(std::string_view string_id) const;
  /// Entries whose string id starts with the prefix, at most `limit`, in file order; linear.
  [[nodiscard]] std::vector<Ordinal> find_prefix(std::string_view prefix, std::size_t limit) const;
  /// The parent by the agents' rules, kNoEntry for a root and for an orphan (omp/FORMAT.md C3).
  [[nodiscard]] Ordinal parent(Ordinal ordinal) const;
  /// Names a parent that the log does not have.
  [[nodiscard]] bool is_orphan(Ordinal ordinal) const;
  /// Some entry names it as parent (and lookups of that name lead to it).
  [[nodiscard]] bool has_children(Ordinal ordinal) const;
  /// Number of entries without children.
  [[nodiscard]] Ordinal tip_count() const;
  [[nodiscard]] std::vector<Ordinal> tips() const;  // file order
  /// The last entry of the log (omp/FORMAT.md C1), kNoEntry when there is none.
  [[nodiscard]] Ordinal leaf() const { return size(); }
  /// The entry that is value `index` of the log, the header being 0 (omp/FORMAT.md E9); kNoEntry when it is none.
  [[nodiscard]] Ordinal entry_at_value(std::uint64_t index) const;

  [[nodiscard]] const std::vector<Label>& labels() const;
  [[nodiscard]] std::vector<Damage> damage() const;
  /// 18's count of malformed records (oracle `malformedRecords`).
  [[nodiscard]] std::uint64_t malformed_records() const;
  [[nodiscard]] bool has_duplicate_ids() const;
  /// Bytes of heap held, for status.json and the memory tests.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  LogIndex();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace arborfs
