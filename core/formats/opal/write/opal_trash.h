// The trash for sessions of Opal: the file of the session, and the folder with other files of it (opal/FORMAT.md A1),
// are moved to the trash and back unchanged. Any thread.
#pragma once

#include <string>

#include "core/writer/trash.h"

namespace arborfs {

class OpalTrash : public Trash {
 public:
  using Trash::Trash;
  /// The caller holds the log (hold_log). The session counts as in its store until its log is moved, and then as in the
  /// trash. Across file systems the files are copied, synced and then removed. Errors: io, no_space; stale if Opal
  /// wrote the log meanwhile. The session is then still in its store.
  Result<Trashed> take(const SessionStore& store, const LogPlace& place, const std::string& title);
  /// Moves a session back to its place; continues where an earlier restore was killed. Removes nothing from the store.
  /// Errors: already_exists, io; busy while another process restores it.
  Result<void> restore(const Trashed& trashed);

 private:
  Result<void> move(const Dir& from, const std::string& name, const Dir& to);
  Result<void> copy(const Dir& from, const std::string& name, const Dir& to);
  Result<void> copy_in(const Dir& from, const std::string& name, const Dir& to, const Dir& drafts);
  Result<void> add_missing(const Dir& from, const std::string& name, const Dir& to, const Dir& drafts);
  void give_back(const TrashFolder& there, const Dir& store, const LogPlace& place);
};

}  // namespace arborfs
