// Leaves that were moved without an append. The log has no place for them (omp/FORMAT.md C1: its last entry is the
// leaf), so they are kept in the state folder until any program appends to the log (CONTRACT.md 6.7). One small file
// per session, named by a hash of the store and the log's name, so that renaming a folder loses none. Thread-safe;
// several processes may use the same folder.
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

/// A leaf, and the state of the log in which it was chosen.
struct KeptLeaf {
  Ordinal entries = 0;          // number of the log's entries then
  EntryId last;                 // the last of them
  std::optional<EntryId> leaf;  // nothing: the root
  /// The leaf in the log as `index` has it now; nothing if entries were appended since.
  [[nodiscard]] std::optional<Ordinal> in(const LogIndex& index) const;
  bool operator==(const KeptLeaf&) const = default;
};

class LeafStore {
 public:
  /// `folder` is created when the first leaf is kept; "" keeps leaves in memory only. `store_key` distinguishes stores.
  LeafStore(std::string folder, std::string store_key, Disk& disk);

  /// Nothing if no leaf is kept or the kept one cannot be read.
  [[nodiscard]] std::optional<KeptLeaf> load(const std::string& log_name) const;
  /// With `sync`, the leaf is on the disk when this returns. Errors: those of the disk.
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
