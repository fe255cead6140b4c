// The trash for sessions of goat: the folder of a session is moved to the trash and back unchanged. Any thread.
#pragma once

#include <string>

#include "core/writer/trash.h"

namespace arborfs {

class GoatTrash : public Trash {
 public:
  using Trash::Trash;
  /// Moves the folder of a session out of its store into the trash. Across file systems it is copied and synced first.
  /// Errors: io, no_space, unsupported (it has devices); the session is then still in its store, unless the message
  /// says that it is in the trash.
  Result<Trashed> take(const SessionStore& store, const LogPlace& place, const std::string& title);
  /// Moves a session back to its original place. Starts over if an earlier restore was killed. Errors: already_exists,
  /// io; busy while another process restores it.
  Result<void> restore(const Trashed& trashed);
};

}  // namespace arborfs
