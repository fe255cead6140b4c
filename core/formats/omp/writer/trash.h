// Holds removed sessions until they are restored (CONTRACT.md 4.7). Each has a private folder under
// $XDG_DATA_HOME/arborfs/trash with the log, its artifacts and backups as they were, a note of their original place,
// and the lines that arborfs acknowledged in the log. arborfs never empties the trash. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/catalog.h"

namespace arborfs {

struct Trashed {
  std::string name;      // of its folder in the trash
  std::string title;     // of the session, for display
  std::string sessions;  // the sessions folder of its original store
  LogPlace place;        // in that folder
  std::int64_t removed_ms = 0;
};

class Trash {
 public:
  /// "" for the user's own.
  explicit Trash(std::string folder, Disk& disk = Disk::real());
  /// Moves a log with all that belongs to it out of its store into the trash. The caller holds the log's lock. Across
  /// file systems the files are copied, synced and compared first. Errors: io, no_space; the session is then still in
  /// its store, unless the message says that it is in the trash.
  Result<Trashed> take(SessionStore& store, const LogPlace& place, const std::string& title);
  /// Keeps what arborfs has written to the log (ErasedEntries::written) with the session. Errors: io, no_space.
  Result<void> keep_written(const Trashed& trashed, std::string_view lines);
  /// The lines of keep_written(); "" if there are none or they cannot be read.
  [[nodiscard]] std::string written_to(const Trashed& trashed) const;
  /// Newest first.
  [[nodiscard]] std::vector<Trashed> list() const;
  /// Moves a session back to its original place. Starts over if an earlier restore was killed. Errors: already_exists,
  /// io; busy while another process restores it.
  Result<void> restore(const Trashed& trashed);

 private:
  struct Place;
  Result<Place> make_place(const Trashed& trashed);
  Result<void> write_note(const Place& place, const Trashed& trashed);
  Result<void> copy_away(SessionStore& store, const LogPlace& log, const Dir& files);
  void give_back(SessionStore& store, const LogPlace& log, const Place& place);
  [[nodiscard]] Result<Trashed> read_note(const Dir& root, const std::string& name) const;
  const std::string folder_;
  Disk& disk_;
};

}  // namespace arborfs
