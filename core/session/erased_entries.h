// Keeps copies of acknowledged entries, so that they are not lost when another program rewrites the log without them
// (CONTRACT.md 6.10, FAILURES.md F4). In the state folder, `written/` holds recently appended entries, one file per
// session, and `erased/` those of them that the log has lost since. Both are private (FAILURES.md S12). Thread-safe;
// several processes may use the same folders. Files that one append opened stay open for the next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/log/log_index.h"
#include "core/os/disk.h"

namespace arborfs {

class ErasedEntries {
 public:
  struct Kept {
    std::string id;
    std::string json;  // the entry's line as it was written, without line feed
  };

  /// `folder` is created when the first entry is kept; "" keeps nothing. `store_key` distinguishes stores. `disk`
  /// outlives it.
  ErasedEntries(std::string folder, std::string store_key, Disk& disk);
  ~ErasedEntries();
  ErasedEntries(const ErasedEntries&) = delete;
  ErasedEntries& operator=(const ErasedEntries&) = delete;

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
  void forget(const std::string& log_name, const std::vector<std::string>& ids);
  /// The session is removed: drops the copies of its acknowledged entries (FAILURES.md S12).
  void forget(const std::string& log_name);

  static constexpr std::size_t kKeptBytes = 4 << 20;

 private:
  using Entries = std::vector<Kept>;
  [[nodiscard]] std::string written_name(const std::string& log_name) const;
  [[nodiscard]] std::string erased_name(const std::string& log_name) const;
  Result<void> append_written(const std::string& log_name, std::string_view lines);
  Result<void> replace(const Dir& folder, const std::string& name, const Entries& entries) const;
  void warn_once(const std::string& log_name, const Error& why);
  Result<bool> note_lost(const std::string& log_name, const LogIndex& index, const std::function<bool()>& is_current);
  struct Opened;
  Result<void> open_written_folder();
  Result<std::uint64_t> open_written_file(const std::string& name);
  const std::string folder_;
  const std::string store_key_;
  Disk& disk_;
  std::mutex mutex_;                // one append at a time; not a leaf
  std::unique_ptr<Opened> opened_;  // by the previous append; guarded by mutex_
  std::mutex warned_mutex_;         // a leaf
  std::set<std::string> warned_;    // logs whose last comparison failed; guarded by warned_mutex_
};

}  // namespace arborfs
