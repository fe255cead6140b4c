// Leaves that were moved without an append. The log itself has no place for them (omp/FORMAT.md C1: its last entry is
// the leaf), so they are kept beside it, under the state folder, and hold until anybody appends (CONTRACT.md 6.7). One
// small file a session, named by a hash of the store and the log's name, so that a renamed folder loses none.
// Thread-safe; several processes may use the same folder.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/log/log_index.h"
#include "core/os/disk.h"
#include "core/store/session_store.h"

namespace arborfs {

/// A leaf, and the state of the log that it was chosen in.
struct KeptLeaf {
  Ordinal entries = 0;          // the log's entries then
  EntryId last;                 // the last one of them
  std::optional<EntryId> leaf;  // nothing: the root
  /// What it means for a log as it is now: nothing when somebody has appended since.
  [[nodiscard]] std::optional<Ordinal> in(const LogIndex& index) const;
  bool operator==(const KeptLeaf&) const = default;
};

class LeafStore {
 public:
  /// `folder` is made when the first leaf is kept; "" keeps them in memory alone. `store_key` tells stores apart.
  LeafStore(std::string folder, std::string store_key, Disk& disk);

  /// Nothing when none is kept, or what is kept cannot be read.
  [[nodiscard]] std::optional<KeptLeaf> load(const std::string& log_name) const;
  /// On the disk when it returns (`sync`), or left to the kernel. Errors: those of the disk.
  Result<void> save(const std::string& log_name, const KeptLeaf& leaf, bool sync);
  void forget(const std::string& log_name);
  /// For the watcher.
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  [[nodiscard]] std::string file_of(const std::string& log_name) const;
  const std::string folder_;
  const std::string store_key_;
  Disk& disk_;
  mutable std::mutex mutex_;
  std::map<std::string, KeptLeaf> in_memory_;  // guarded by mutex_; used when folder_ is ""
};

}  // namespace arborfs
