// The data that arborfs keeps for the sessions of one store outside of their logs, in the state folder
// ($XDG_STATE_HOME/arborfs). One kind of data is one folder there with at most one file per log, private (FAILURES.md
// S12). A file is named by a hash of the store and the log's name, so that renaming a folder loses none. Several stores
// and several processes use the same folders. A failure loses protection, never a write. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/log/log_index.h"
#include "core/os/disk.h"
#include "core/session/awaited_blobs.h"
#include "core/store/log_writer.h"
#include "core/store/store.h"

namespace arborfs {

/// One of the folders. It is created when the first file is kept.
class StateFolder {
 public:
  static constexpr std::size_t kNoBound = SIZE_MAX;
  /// `path` "": texts are kept in memory. `store_key` distinguishes stores. When a file is added, the oldest beyond
  /// `most` go, and with `ages` all that were not written for a month. `disk` outlives it.
  StateFolder(std::string path, std::string store_key, Disk& disk, std::size_t most = kNoBound, bool ages = false);

  [[nodiscard]] bool is_in_memory() const { return path_.empty(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Disk& disk() const { return disk_; }
  [[nodiscard]] std::string name_of(const std::string& log_name) const;
  /// Errors: those of open_private_folder and make_private_folder (core/os/state_dir.h).
  [[nodiscard]] Result<Dir> open() const;
  [[nodiscard]] Result<Dir> make(bool sync = false) const;
  [[nodiscard]] Result<File> file(const std::string& log_name) const;
  /// At most so many bytes from the beginning; "" without a file.
  [[nodiscard]] std::string read(const std::string& log_name, std::size_t most) const;
  /// Atomically. With `sync` it is on the disk on return. Errors: those of the disk.
  Result<void> replace(const std::string& log_name, std::string_view text, bool sync);
  /// Writes what `change` makes of a file of at most `most` bytes over its beginning; false if there is none or it
  /// cannot be written.
  bool update(const std::string& log_name, std::size_t most,
              const std::function<std::string(std::string_view text)>& change);
  void remove(const std::string& log_name);
  void make_room(const Dir& folder) const;

 private:
  struct InMemory {
    std::string text;
    std::uint64_t number = 0;  // rises with each change
  };
  Result<FileStat> open_to_update(const std::string& name);
  const std::string path_;
  const std::string store_key_;
  Disk& disk_;
  const std::size_t most_;
  const bool ages_;
  mutable std::mutex mutex_;                   // a leaf
  std::string updated_name_;                   // guarded by mutex_
  std::optional<File> updated_;                // update()'s last file, which stays open; guarded by mutex_
  std::map<std::string, InMemory> in_memory_;  // by log name; guarded by mutex_
  std::uint64_t last_number_ = 0;              // guarded by mutex_
};

/// A leaf, and the state of the log in which it was chosen.
struct KeptLeaf {
  Ordinal entries = 0;          // number of the log's entries then
  EntryId last;                 // the last of them
  std::optional<EntryId> leaf;  // nothing: the root
  /// The leaf in the log as `index` has it now; nothing if entries were appended since.
  [[nodiscard]] std::optional<Ordinal> in(const LogIndex& index) const;
  bool operator==(const KeptLeaf&) const = default;
};

/// Leaves that were moved without an append. The log has no place for them (omp/FORMAT.md C1: its last entry is the
/// leaf), so they are kept until any program appends to the log (CONTRACT.md 6.7).
class LeafStore {
 public:
  /// `state`: the state folder, "" for none.
  LeafStore(const std::string& state, const std::string& store_key, Disk& disk);
  /// Nothing if no leaf is kept or the kept one cannot be read.
  [[nodiscard]] std::optional<KeptLeaf> load(const std::string& log_name) const;
  /// With `sync`, the leaf is on the disk when this returns. Errors: those of the disk.
  Result<void> save(const std::string& log_name, const KeptLeaf& leaf, bool sync);
  void forget(const std::string& log_name) { files_.remove(log_name); }
  /// What is kept, as it is stored, so that it can be put back; "" for nothing.
  [[nodiscard]] std::string text(const std::string& log_name) const;
  Result<void> put_text(const std::string& log_name, const std::string& text, bool sync);
  /// For the watcher.
  [[nodiscard]] const std::string& folder() const { return files_.path(); }

 private:
  StateFolder files_;
};

/// Which writes to logs were arborfs' own. A log that arborfs created, or wrote last, is not a trace of an agent
/// (CONTRACT.md 5.3). A log without a mark counts as an agent's.
class WriteMarks {
 public:
  static constexpr std::size_t kMost = 512;
  WriteMarks(const std::string& state, const std::string& store_key, Disk& disk);
  /// arborfs has just created this log.
  void note_made(const std::string& log_name, const FileStat& made);
  /// arborfs wrote to this log under its lock: `before` and `after` are its stats. Where nothing was written, nothing
  /// is noted.
  void note_written(const std::string& log_name, const FileStat& before, const FileStat& after);
  /// When another program last wrote the log, in ns since 1970; nothing if none did since arborfs created it.
  [[nodiscard]] std::optional<std::int64_t> written_by_others(const std::string& log_name, const FileStat& now) const;

 private:
  /// The log as arborfs left it. If its inode, size or mtime differs, another program wrote it.
  struct Mark;
  static constexpr std::size_t kLongest = 256;  // bytes of a mark
  static std::optional<Mark> mark_of(std::string_view text);
  [[nodiscard]] std::optional<Mark> load(const std::string& log_name) const;
  void save(const std::string& log_name, const std::function<Mark(const std::optional<Mark>& before)>& change);
  StateFolder files_;
};

/// Appends that one write(2) may not make atomic: a fatal signal can end it between two pages of the log. A note has
/// the text until it is appended, so that a partial append of a killed process is cut off before anything is written
/// after it (CONTRACT.md 7.2). It is not synced: it survives the process, but a power cut may lose it. Callers of every
/// function except all() hold the log's lock, if the log still exists.
class PendingAppends {
 public:
  /// An append up to this long is written by one write(2), whole or not at all, and needs no note.
  static constexpr std::size_t kAtomic = 4096;
  PendingAppends(const std::string& state, const std::string& store_key, Disk& disk);

  /// While it lives, the next process would cut off a part of the append.
  class Note {
   public:
    Note() = default;
    Note(PendingAppends& owner, std::string log_name) : owner_(&owner), log_name_(std::move(log_name)) {}
    ~Note();
    Note(Note&& other) noexcept;
    Note& operator=(Note&&) = delete;

   private:
    PendingAppends* owner_ = nullptr;
    std::string log_name_;
  };
  /// `text` is about to be appended to the log, whose stat is now `log`. The result is empty for a small text, and if
  /// the note cannot be kept: that goes to the daemon's log, and the append continues without it.
  [[nodiscard]] Note note(const LogPlace& place, const FileStat& log, std::string_view text);

  /// True if a process may have been killed during an append to this log. One system call.
  [[nodiscard]] bool has(const std::string& log_name) const;
  /// Cuts off the bytes of such an append, if they are only a part of it and nothing follows them; true if it did.
  /// Removes the note in any case.
  bool take_back(LogWriter& writer, const std::string& log_name);
  /// The logs of this store for which has() is true.
  [[nodiscard]] std::vector<LogPlace> all() const;
  void forget(const std::string& log_name) { files_.remove(log_name); }

 private:
  Result<void> write(const LogPlace& place, const FileStat& log, std::string_view text);
  StateFolder files_;
};

/// Copies of acknowledged entries, so that they are not lost when another program rewrites the log without them
/// (CONTRACT.md 6.10, FAILURES.md F4): `written/` holds recently appended entries, and `erased/` those of them that the
/// log has lost since.
class ErasedEntries {
 public:
  struct Kept {
    std::string id;
    std::string json;  // the entry's line as it was written, without line feed
  };

  ErasedEntries(const std::string& state, const std::string& store_key, Disk& disk);

  /// `lines` (each with its line feed) are in the log and about to be acknowledged. Beyond kKeptBytes per session only
  /// the newest entries are kept. A failure only goes to the daemon's log: it loses no entry.
  void acknowledge(const std::string& log_name, std::string_view lines);
  /// Finds the acknowledged entries that `index` lacks, or has again. `is_current` returns whether the log still is the
  /// one that the index was made from: entries that another process appended and acknowledged since then are not lost.
  /// False if the comparison is not possible now; compare again when the index has caught up. A failure that lasts goes
  /// to the daemon's log once, and counts as a comparison until the log is rewritten again.
  bool compare(const std::string& log_name, const LogIndex& index, const std::function<bool()>& is_current);
  /// The copies of acknowledged entries, as they were given.
  [[nodiscard]] std::string written(const std::string& log_name) const;
  /// True if one of these copies has this id.
  [[nodiscard]] bool has_written(const std::string& log_name, std::string_view id) const;
  /// The entries that the log lacked at the last compare(), in the order in which they were written.
  [[nodiscard]] std::vector<Kept> of(const std::string& log_name) const;
  /// The file that holds of(), JSON lines, for messages. A user who removes it discards them.
  [[nodiscard]] std::string path_of(const std::string& log_name) const;

  /// arborfs itself removes these entries from the log: drops the copies of them.
  /// Returns how many there were.
  std::size_t forget(const std::string& log_name, const std::vector<std::string>& ids);
  /// The same for the entries in lines.
  std::size_t forget_lines(const std::string& log_name, std::string_view lines);
  /// The session is removed: drops the copies of its acknowledged entries (FAILURES.md S12).
  void forget(const std::string& log_name) { written_.remove(log_name); }

  static constexpr std::size_t kKeptBytes = 4 << 20;

 private:
  using Entries = std::vector<Kept>;
  /// The file of written/ to which was appended last: it stays open.
  struct Appended {
    std::string name;
    Dir folder;
    File file;
  };
  Result<void> open_written(const std::string& name);
  [[nodiscard]] std::string erased_name(const std::string& log_name) const;
  Result<void> append_written(const std::string& log_name, std::string_view lines);
  Result<void> replace(const Dir& folder, const std::string& name, const Entries& entries) const;
  Result<bool> note_lost(const std::string& log_name, const LogIndex& index, const std::function<bool()>& is_current);
  StateFolder written_;
  StateFolder erased_;
  std::mutex mutex_;                  // one change of written/ at a time; not a leaf
  std::optional<Appended> appended_;  // guarded by mutex_
  std::mutex warned_mutex_;           // a leaf
  std::set<std::string> warned_;      // logs whose last comparison failed; guarded by warned_mutex_
};

struct StoreState {
  /// `folder` is the state folder. Without one ("") leaves and marks are kept in memory and the other data is not kept.
  StoreState(const Store& store, const std::string& folder)
      : leaves(folder, store.paths().sessions, store.disk()),
        erased(folder, store.paths().sessions, store.disk()),
        marks(folder, store.paths().sessions, store.disk()),
        pending(folder, store.paths().sessions, store.disk()),
        awaited_blobs(std::make_shared<AwaitedBlobs>()) {}

  LeafStore leaves;
  ErasedEntries erased;
  WriteMarks marks;
  PendingAppends pending;
  const std::shared_ptr<AwaitedBlobs> awaited_blobs;
};

}  // namespace arborfs
