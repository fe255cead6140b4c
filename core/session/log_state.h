// What was read of one log: its head, the log itself, the index of it, the sizes of its texts, and which versions of
// them readers have. Session (session.h) owns one state, and guards it: one thread at a time reads more of the log,
// which changes nothing, and then applies what it has read while it alone has the state. In between, readers share it.
//
// The functions named read_… and is_… are const; of them, those that say so read the log. The others need the state
// alone, and do no I/O.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/entry/text_sizes.h"
#include "core/log/log_index.h"
#include "core/session/change_feed.h"
#include "core/session/notes.h"
#include "core/session/store_state.h"
#include "core/store/store.h"

namespace arborfs {

/// How much of a session a caller needs.
enum class Depth : std::uint8_t {
  head,     // stat and header: a few KiB read; up to 4 MiB for the title of a log of pi
  raw,      // the log open, and a fingerprint of its bytes: a few KiB more
  index,    // every entry's place: the log read once
  details,  // sizes of texts, images, usage: the log read a second time
};

/// Tells readers what they may keep of an earlier state: what has the same version reads the same. The versions of
/// entries and bytes are unique among all sessions of a catalog, from 1; 0 before anything was read. They outlive the
/// index (LogState::evict) if the log has only grown when it is read again.
struct Versions {
  static constexpr Ordinal kLastEntry = UINT32_MAX;
  /// Some of the last entries were changed, but none before `first`.
  struct Revision {
    Ordinal first = kNoEntry;
    std::uint32_t version = 0;
  };
  std::uint32_t entries = 0;        // of all entries: the generation of the session
  std::vector<Revision> revisions;  // within that generation, by `first`
  Ordinal settled = 0;              // the most entries within it that the agent had promised not to change
  std::uint32_t bytes = 0;          // of the log's bytes after the title slot
  std::uint32_t raw = 0;            // of all its bytes: the slot is overwritten in place
  std::uint32_t epoch = 0;          // changes when anything visible in the session changes

  /// Of an entry and those before it. That of kNoEntry is `entries`, that of kLastEntry changes with any entry.
  [[nodiscard]] std::uint32_t of(Ordinal entry) const;
};

/// A fingerprint of a log's bytes, made of a few hashes: shows later whether the log still begins with them. Most logs
/// are only appended to, or occasionally rewritten, so their first and last bytes are enough (CONTRACT.md 3.2). A title
/// slot at the beginning is left out, because it is overwritten in place.
class ContentFingerprint {
 public:
  enum class Of : std::uint8_t { ends, all };  // that of all costs a tenth of an index
  /// Of the first `size` bytes on disk, without the first `slot`. Errors: io.
  static Result<ContentFingerprint> make(const LogSource& log, std::uint64_t slot, std::uint64_t size, Of which);
  /// True if the log has the same bytes there now. Errors: io.
  [[nodiscard]] Result<bool> is_of(const LogSource& log) const;

 private:
  ContentFingerprint(std::uint64_t slot, std::uint64_t size, Of which);
  Result<void> add(const LogSource& log, std::uint64_t from, std::uint64_t to);
  std::uint64_t slot_ = 0;
  std::uint64_t size_ = 0;
  Of which_;
  std::uint64_t hash_ = 0;
};

/// A hash of the entries of an index: shows whether another index of the same log has the same entries, so that results
/// from the first (node ids, sizes, inode numbers) are valid for the second.
class IndexFingerprint {
 public:
  /// Reads every entry: about 0.1 µs each.
  explicit IndexFingerprint(const LogIndex& index) : IndexFingerprint(index, index.size()) {}
  /// True if `index` begins with the same entries; it may have more after them.
  [[nodiscard]] bool is_of(const LogIndex& index) const;
  [[nodiscard]] Ordinal entries() const { return entries_; }

 private:
  IndexFingerprint(const LogIndex& index, Ordinal entries);
  Ordinal entries_ = 0;
  std::uint64_t hash_ = 0;
};

/// What a thread has read of a log, to be applied to the state that it was read for.
struct LogReading {
  FileStat stat;  // before it was read
  Header header;  // without an index
  std::shared_ptr<const LogSource> log;
  std::unique_ptr<LogIndex> index;     // of the whole log, or
  LogIndex::GrowthPtr growth;          // of its new part
  std::unique_ptr<TextSizes> details;  // with `index`
  std::optional<TextSizes::Delta> delta;
  std::string slot;
  std::optional<ContentFingerprint> mark;
  bool keeps_bytes = false;     // the log still has all bytes of the state, but for the slot
  std::optional<Ordinal> kept;  // how many entries of the state it begins with; nothing if settled ones are not there
  bool is_other = false;        // something that is in neither of them has changed
  std::optional<KeptLeaf> leaf;
};

struct LogState {
  /// Facts known without reading the whole log.
  struct Head {
    FileStat stat;
    Header header;
    std::string problem;  // "" or why the log cannot be read, in words
  };
  /// An index that was evicted.
  struct Evicted {
    IndexFingerprint mark;
    FileStat stat;  // of the log at that time
  };

  /// `of` outlives it.
  LogState(const Store& of, FoundLog& found);

  const Store& store;
  const Format& format;
  Head head;
  bool has_head = false;  // it was read, and nothing failed since
  bool is_gone = false;
  bool is_racy = false;       // the log was so young when it was read that a later write may leave its times unchanged
  bool is_tail_aged = false;  // an unterminated end is damage now (CONTRACT.md 3.3)
  std::shared_ptr<const LogSource> log;
  std::unique_ptr<LogIndex> index;
  std::unique_ptr<TextSizes> details;
  std::string slot;                        // the bytes of the title slot, "" without one
  std::optional<ContentFingerprint> mark;  // with an index of all bytes, if these are few; without one of their ends
  std::optional<Evicted> evicted;          // to compare with the index when it is read again
  std::optional<KeptLeaf> kept_leaf;
  std::optional<Ordinal> moved_leaf;  // kept_leaf resolved in this state
  NotedPtr noted;                     // head and index have what it says, unless the format has a place for that
  Versions versions;

  /// The agent that the log belongs to.
  [[nodiscard]] const Format& owner() const;
  [[nodiscard]] bool has(Depth depth) const;
  [[nodiscard]] Depth depth() const;
  [[nodiscard]] std::size_t memory_bytes() const;
  /// True if all of it was read to this depth when the log had this stat, and no write since can have left it so.
  [[nodiscard]] bool is_current(const FileStat& st, Depth depth) const;
  /// True for a log that was read just after it was written, if it is short enough to compare all its bytes, which this
  /// reads, or if its index can tell (LogIndex::is_as_read). Reading it again would cost more, and would start a new
  /// generation if there is nothing to grow from.
  [[nodiscard]] bool is_same_after_all(const LogPlace& place, const FileStat& st, Depth depth) const;
  /// True if the log's unterminated end is to be looked at once more.
  [[nodiscard]] bool has_ageing_tail(const FileStat& st) const;
  /// How much of the log there is to read, about.
  [[nodiscard]] std::uint64_t bytes_to_read(const FileStat& st, Depth depth) const;
  /// True if the log is unchanged since the last read, which this looks up, and nothing will change merely because it
  /// grows older.
  [[nodiscard]] bool is_at_rest() const;

  // Each reads the log, whose stat is `st`. Errors: those of opening and reading it; interrupted.
  [[nodiscard]] Result<LogReading> read_head(const LogPlace& place, const FileStat& st) const;
  [[nodiscard]] Result<LogReading> read_raw(const LogPlace& place, const FileStat& st) const;
  /// Nothing if the log must be read again from the start.
  [[nodiscard]] Result<std::optional<LogReading>> read_growth(const LogPlace& place, const FileStat& st) const;
  [[nodiscard]] Result<LogReading> read_index(const LogPlace& place, const FileStat& st, Depth depth,
                                              const std::stop_token& stop) const;
  [[nodiscard]] Result<std::unique_ptr<TextSizes>> read_details(const LogSource& of, const LogIndex& in,
                                                                const std::stop_token& stop) const;

  // Each returns the change to publish, as seen by readers of the state before. New versions come from `numbers`.
  std::optional<Change> apply(LogReading read, std::atomic<std::uint32_t>& numbers);
  std::optional<Change> apply(std::optional<KeptLeaf> leaf);
  std::optional<Change> apply(NotedPtr now);
  std::optional<Change> fail(const Error& error);
  std::optional<Change> age_tail();
  /// Invalidates everything made from its entries, as if the log had been rewritten.
  std::optional<Change> begin_anew(std::atomic<std::uint32_t>& numbers);
  /// Drops index and details. If the log has only grown when it is read again, all versions stay: the marks are those
  /// of the index and of the ends of the log.
  void evict(const IndexFingerprint& of, const ContentFingerprint& ends);
  /// Drops all that is loaded, for good.
  void clear();

 private:
  [[nodiscard]] std::optional<Change> change_of_entries(std::optional<Ordinal> kept, bool is_revised,
                                                        std::uint32_t generation) const;
  std::optional<Change> apply_head(const LogReading& read);
  void keep_head(const FileStat& st, const Header& header);
  void keep_findings(const FileStat& st, Header& header) const;
  void show_noted();
  void resolve_leaf();
  void apply_growth(LogReading& read);
  void number(std::optional<Ordinal> kept, bool is_revised, std::atomic<std::uint32_t>& numbers);
  [[nodiscard]] Result<bool> keeps_bytes(const LogReading& read) const;
  [[nodiscard]] std::optional<Ordinal> entries_kept(const LogIndex& loaded, bool keeps_bytes) const;
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> log_to_grow(const LogPlace& place) const;
  [[nodiscard]] bool is_written_within(const LogReading& grown) const;
  [[nodiscard]] Result<std::string> current_slot() const;
  Result<bool> read_new_part(LogReading& grown) const;
  std::optional<std::string> own_title_;  // of the log, if the format has no place for a title of a user
};

}  // namespace arborfs
