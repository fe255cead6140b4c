// The compact index of one session log: the place, type and parent of each record. Keeps no text in memory; takes about
// 32 bytes per entry plus its id (CONTRACT.md 6.12).
//
// An index only ever grows. Any other change - a rewrite, a truncation, a change of the rules under which earlier
// entries were read - requires a new index. Not thread-safe: its owner (session/session.h) guards it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/log/log_source.h"

namespace arborfs {

/// How many complete records of a log make no entry although the reader does not know them as bookkeeping, by type
/// (CONTRACT.md 6.13). Small and bounded, whatever the log contains.
class RecordCounts {
 public:
  using ByType = std::map<std::string, std::uint64_t, std::less<>>;
  /// After so many types, further ones are counted together as kOthers.
  static constexpr std::size_t kMostTypes = 64;
  static constexpr std::string_view kOthers = "other";
  /// The type of a record that names none.
  static constexpr std::string_view kNoType = "value";

  /// Counts records of a type: the words of the log that say what they are. A long one is cut.
  void add(std::string_view type, std::uint64_t count = 1);
  void add(const RecordCounts& more);
  [[nodiscard]] const ByType& by_type() const { return by_type_; }
  [[nodiscard]] bool empty() const { return by_type_.empty(); }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  ByType by_type_;
};

/// An entry's place in the log, from 1, in the order of the reader: that of the file, or of the tree.
using Ordinal = std::uint32_t;
inline constexpr Ordinal kNoEntry = 0;

/// The rules by which a format's reader read a log, in a numbering of its own; 0 if it has only one set of rules.
using DialectNumber = std::uint8_t;

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
  session_info,
  context_edit,
  usage,
  session,
  inherited_usage,  // of a request of the session from which this one was forked
  other,
};

/// An id with its JSON type: 5 and "5" differ, 5.0 and 5 do not (omp/FORMAT.md C2).
struct EntryId {
  enum class Kind : std::uint8_t { missing, string, other } kind = Kind::missing;
  std::string text;  // the string (WTF-8), or the canonical JSON text of another value
  bool operator==(const EntryId&) const = default;
};

/// One entry. Offset and length are those of the JSON value in the log, without the white space around it.
struct Entry {
  static constexpr std::int64_t kNoTime = INT64_MIN;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;  // 0xFFFFFFFF: at least that; see LogIndex::length
  std::uint32_t id = 0;      // handle in the index's id table; 0: no id
  std::uint32_t parent = 0;  // handle of the parent's id; 0: a root, as the entry names no parent (omp/FORMAT.md C3)
  std::uint16_t name = 0;    // handle of LogIndex::name(): the role of a message, else the type
  EntryType type = EntryType::none;
  std::uint8_t flags = 0;
  std::int64_t timestamp_ms = kNoTime;
};
static_assert(sizeof(Entry) == 32);

/// One run of bytes of the log that belong to no entry (omp/FORMAT.md A3 to A6). `in_progress`: it is at the end of the
/// log, which has no final line feed.
struct Damage {
  /// `duplicate` and `repetition`: a record that another one with the same id replaces; a repetition has the same bytes
  /// as that one, so that nothing is lost.
  enum class Kind : std::uint8_t { malformed, fused, nul, unfinished, too_tangled, duplicate, repetition };
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  Kind kind = Kind::malformed;
  bool in_progress = false;
  [[nodiscard]] bool is_replaced() const { return kind == Kind::duplicate || kind == Kind::repetition; }
  bool operator==(const Damage&) const = default;
};
std::string_view damage_word(Damage::Kind kind);  // "malformed", "fused", ...

/// A label in effect (omp/FORMAT.md C6 to C8).
struct Label {
  EntryId target;
  std::string text;  // as shown; the JSON text if it is not a string
  Ordinal set_by = kNoEntry;
  bool is_noted = false;  // outside of the log: set_by says only in which order
};

/// The session's own data, from its log.
struct Header {
  bool valid = false;           // omp/FORMAT.md A12
  std::string problem;          // why it is invalid, or why the log is read-only although it is valid
  bool has_slot = false;        // a first line that the agent overwrites in place precedes it
  bool migrated = false;        // from an older version, in memory only
  bool of_other_agent = false;  // of the other agent that keeps logs in such folders (Store::owner_of)
  bool gives_ids = false;       // version 1: ids and parents are generated, those in the log ignored (omp/FORMAT.md E9)
  bool writable_version = true;  // false if arborfs cannot write logs of this version
  std::string json;              // JSON.stringify of the header after slot and migration; "" if invalid
  std::string id;
  std::string cwd;
  std::string title;
  bool is_named = false;  // a later record than the header sets the title, even to ""
  std::string tag;        // that the agent itself keeps of the session; "" for none
  std::string parent_session;
  std::string started_by;  // the id of the session that started this one as a sub-agent's; "" if none did
  std::string timestamp;
  std::optional<double> cost;  // of the whole session, for an agent whose entries do not record it
  std::uint64_t offset = 0;    // of the header's value in the log
  std::uint64_t length = 0;

  static Header invalid(std::string problem) {
    Header header;
    header.problem = std::move(problem);
    return header;
  }
  /// Errors: read_only, with its problem.
  [[nodiscard]] Result<void> check_valid() const {
    return valid ? Result<void>() : Result<void>(Errc::read_only, problem);
  }
};

/// Header::problem of a log in which no record has been written yet, as a program leaves it that was only started.
inline constexpr std::string_view kNoRecords = "the log has no records";

struct IndexState;

class LogIndex {
 public:
  explicit LogIndex(std::unique_ptr<IndexState> state);
  virtual ~LogIndex();
  LogIndex(const LogIndex&) = delete;
  LogIndex& operator=(const LogIndex&) = delete;

  /// The part of the log after the indexed part, as a format's index read it.
  class Growth {
   public:
    virtual ~Growth() = default;
  };
  using GrowthPtr = std::unique_ptr<Growth>;
  /// Reads from where the scan ended. Does not change the index, so readers can continue. Null, which means that the
  /// log must be indexed again from the start, if earlier entries would now be read differently, and always for a
  /// format that cannot detect that. Errors: io, interrupted.
  [[nodiscard]] virtual Result<GrowthPtr> read_growth(const LogSource& log) const;
  /// True if read_growth() would find that neither was anything added nor were earlier entries changed; it is the
  /// cheaper question. False also if that cannot be told. Errors: io, interrupted.
  [[nodiscard]] virtual Result<bool> is_as_read(const LogSource& log) const;
  /// The offsets, lengths and types of the entries in `growth`; ids, parents and times are not set.
  [[nodiscard]] virtual std::vector<Entry> new_entries(const Growth& growth) const;
  virtual void apply(GrowthPtr growth);

  /// True if the first entries are those of `before`. They may be elsewhere in the log if the format's logs may be
  /// rewritten completely to add an entry. False for indexes without hashes of entries.
  [[nodiscard]] bool begins_with(const LogIndex& before) const;
  /// How many of the first entries are those of `before`, in the same sense.
  [[nodiscard]] Ordinal common_entries(const LogIndex& before) const;
  /// True if there are exactly the entries of `before`, they and the damage are in the same places, and the header is
  /// the same. False for indexes without hashes of entries.
  [[nodiscard]] bool lies_as(const LogIndex& before) const;
  /// True for a log that its agent only appends to (LogReader::only_grow): its entries are in the order in which they
  /// were written.
  [[nodiscard]] virtual bool only_grows() const { return false; }
  /// How many of the first entries the agent never changes again: as a rule, all.
  [[nodiscard]] Ordinal settled() const;

  [[nodiscard]] DialectNumber dialect() const;
  [[nodiscard]] const Header& header() const;
  /// Header::gives_ids.
  [[nodiscard]] bool gives_ids() const;
  /// How many bytes of the log the scan has covered.
  [[nodiscard]] std::uint64_t scanned_size() const;
  /// Number of entries; ordinals are 1 to size().
  [[nodiscard]] Ordinal size() const;
  [[nodiscard]] const Entry& entry(Ordinal ordinal) const;
  [[nodiscard]] std::uint64_t length(Ordinal ordinal) const;
  [[nodiscard]] EntryId id(Ordinal ordinal) const;
  [[nodiscard]] EntryId parent_id(Ordinal ordinal) const;
  /// The agent's own word: a message's role, another entry's type, "value" for neither.
  [[nodiscard]] std::string_view name(Ordinal ordinal) const;
  /// The word for people, in the file name's stem and in filters, from one vocabulary for all agents: user, assistant,
  /// tool, summary or system; else name() (CONTRACT.md 2.2).
  [[nodiscard]] std::string_view role(Ordinal ordinal) const;
  [[nodiscard]] std::string_view type_text(Ordinal ordinal) const;
  [[nodiscard]] bool is_assistant(Ordinal ordinal) const;

  /// The last entry with this id (omp/FORMAT.md C2), or kNoEntry.
  [[nodiscard]] Ordinal find(const EntryId& id) const;
  [[nodiscard]] Ordinal find(std::string_view string_id) const;
  /// Entries whose string id starts with the prefix, at most `limit`, in file order; linear time.
  [[nodiscard]] std::vector<Ordinal> find_prefix(std::string_view prefix, std::size_t limit) const;
  /// The parent by the agents' rules, kNoEntry for a root and for an orphan (omp/FORMAT.md C3).
  [[nodiscard]] Ordinal parent(Ordinal ordinal) const;
  /// The entry that its record names beside its parent as the one before it for people (RecordFields::before); kNoEntry
  /// if it names none, or one that the log does not have.
  [[nodiscard]] Ordinal named_before(Ordinal ordinal) const;
  /// True for an entry of another conversation in the same log (RecordFields::is_aside).
  [[nodiscard]] bool is_aside(Ordinal ordinal) const;
  /// The first entry with the same id and the same parent as this one, which is a row that was written again; kNoEntry
  /// for any other.
  [[nodiscard]] Ordinal repeats(Ordinal ordinal) const;
  /// True if the entry names a parent that the log does not have.
  [[nodiscard]] bool is_orphan(Ordinal ordinal) const;
  /// True if nothing follows the entry: no later one has its id, and no other names it as its parent. Of several
  /// entries with one id that name different parents, the last has only the children that come after it.
  [[nodiscard]] bool is_tip(Ordinal ordinal) const;
  /// Number of tips: the branches.
  [[nodiscard]] Ordinal tip_count() const;
  [[nodiscard]] std::vector<Ordinal> tips() const;  // file order
  /// Where the agent continues: the entry that the reader found, else the last one; kNoEntry if there is none.
  [[nodiscard]] Ordinal leaf() const;
  /// The entry that is value `index` of the log (omp/FORMAT.md E9); a valid header is value 0. kNoEntry if that value
  /// is not an entry.
  [[nodiscard]] Ordinal entry_at_value(std::uint64_t index) const;

  [[nodiscard]] const std::vector<Label>& labels() const;
  /// Adds labels that users noted outside of the log, the newest last, to those of the log, or replaces them on the
  /// same entries, in place of what was noted before. Call it again when the index has grown. No part of what
  /// begins_with() and lies_as() compare.
  void note_labels(std::vector<Label> noted);
  [[nodiscard]] std::vector<Damage> damage() const;
  /// The number of malformed records, as the agent counts them.
  [[nodiscard]] std::uint64_t malformed_records() const;
  /// The complete records that make no entry, apart from known bookkeeping (CONTRACT.md 6.13).
  [[nodiscard]] const RecordCounts& not_shown() const;
  [[nodiscard]] bool has_duplicate_ids() const;
  /// Heap use in bytes, for status.json and the memory tests.
  [[nodiscard]] std::size_t memory_bytes() const;

 protected:
  [[nodiscard]] const IndexState& state() const { return *state_; }
  [[nodiscard]] IndexState& state() { return *state_; }

 private:
  const std::unique_ptr<IndexState> state_;
};

/// The type of a word; `other` for an unknown one.
EntryType entry_type_of(std::string_view word);

/// The word of a known type, "" for `none` and `other`.
std::string_view entry_type_word(EntryType type);

/// The id as JSON, as written after "parentId" or "targetId"; "null" for a missing one.
std::string id_json(const EntryId& id);

}  // namespace arborfs
