// The trash for sessions of omp and pi: the log, its artifacts and its backups are moved to the trash and back
// unchanged. Any thread.
#pragma once

#include <string>

#include "core/session/catalog.h"
#include "core/writer/trash.h"

namespace arborfs {

class OmpTrash : public Trash {
 public:
  using Trash::Trash;
  /// Moves a log with all its files out of its store into the trash. The caller holds the log's lock. Across file
  /// systems the files are copied, synced and compared first. Errors: io, no_space; the session is then still in its
  /// store, unless the message says that it is in the trash.
  Result<Trashed> take(SessionStore& store, const LogPlace& place, const std::string& title);
  /// Moves a session back to its original place. Starts over if an earlier restore was killed. Errors: already_exists,
  /// io; busy while another process restores it.
  Result<void> restore(const Trashed& trashed);

 private:
  Result<Dir> make_old_folder(const Trashed& trashed);
  Result<void> copy_away(SessionStore& store, const LogPlace& log, const Dir& files);
  void give_back(SessionStore& store, const LogPlace& log, const TrashFolder& place);
};

}  // namespace arborfs
