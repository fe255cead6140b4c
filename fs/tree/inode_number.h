// st_ino: hashes of the entry or name that a file stands for, so that the numbers survive a remount and nothing has to
// be stored.
#pragma once

#include <cstdint>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/log/log_index.h"
#include "core/session/catalog.h"

namespace arborfs {

/// `word` is the kind of file (NodeRow::word), `what` distinguishes files of that kind. Never 0 or 1.
std::uint64_t stable_ino(std::uint64_t seed, std::string_view word, std::string_view what = {});

/// The same for a file that belongs to one entry. It depends on the entry's time and id, so it survives a rewrite of
/// the log; only entries without an id of their own use their ordinal. The time is in the high bits, because find, grep
/// -r and others read a folder of more than 10,000 files in inode order: this makes it the order of the log, as with
/// files on a disk. If the time is of no use (missing, out of range, or equal to that of the entry before), the number
/// is a plain hash.
std::uint64_t entry_ino(std::uint64_t seed, std::string_view word, const LogIndex& index, Ordinal ordinal);

/// The inode seeds of sessions, made from the names of their logs. Thread-safe; mutex_ comes before the locks of
/// sessions, so it is never taken under a Guard.
class InodeSeeds {
 public:
  std::uint64_t seed_of(const Session& session, const CatalogView& view);

 private:
  // Both need mutex_:
  void take_names(const CatalogView& view);
  std::uint64_t new_seed(const Session& session, const CatalogView& view);
  std::shared_mutex mutex_;
  std::unordered_map<std::uint32_t, std::uint64_t> seeds_;  // by session number; guarded by mutex_
  std::uint64_t view_version_ = 0;                          // of names_; guarded by mutex_
  std::unordered_multimap<std::uint64_t, std::uint32_t>
      names_;  // hash of a log's name to session number; guarded by mutex_
};

}  // namespace arborfs
