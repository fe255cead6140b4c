// Where removed sessions wait to be restored (CONTRACT.md 4.7): one private folder each under
// $XDG_DATA_HOME/arborfs/trash, with the log, its artifacts and backups as they were, a note of where they came from,
// and what of it arborfs looked after. Nothing is ever deleted from it by arborfs. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/catalog.h"

namespace arborfs {

struct Trashed {
  std::string name;      // of its folder in the trash
  std::string title;     // of the session, for people
  std::string sessions;  // the sessions folder of the store that it came from
  LogPlace place;        // in there
  std::int64_t removed_ms = 0;
};

class Trash {
 public:
  /// "" for the user's own.
  explicit Trash(std::string folder, Disk& disk = Disk::real());
  /// Takes a log with all that belongs to it out of its store; its lock is the caller's. Across file systems it is
  /// copied, synced and compared first. Errors: io, no_space; then everything is where it was.
  Result<Trashed> take(SessionStore& store, const LogPlace& place, const std::string& title);
  /// What arborfs has written to a log in the trash (ErasedEntries::written) goes with it. Errors: io, no_space.
  Result<void> keep_written(const Trashed& trashed, std::string_view lines);
  /// The same lines; "" when there are none, or they cannot be read.
  [[nodiscard]] std::string written_to(const Trashed& trashed) const;
  /// Newest first.
  [[nodiscard]] std::vector<Trashed> list() const;
  /// Back to where it came from. Where an earlier restore was killed it begins anew. Errors: already_exists, io; busy
  /// while another process restores it.
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
