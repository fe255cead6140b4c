// Removed sessions until they are restored (CONTRACT.md 4.7). Each has a private folder under
// $XDG_DATA_HOME/arborfs/trash with a note of its original place, and a folder for all its files. Sessions
// get there and back by transfer.h; core/formats/registry.h restores any session. arborfs empties the trash only when
// the user asks for it. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/disk.h"
#include "core/session/session.h"
#include "core/store/store.h"

namespace arborfs {

struct Trashed {
  std::string name;      // of its folder in the trash
  std::string agent;     // whose format restores it
  std::string format;    // Format::name; "" in notes that an older arborfs wrote
  std::string title;     // of the session, for display
  std::string sessions;  // the sessions folder of its original store
  LogPlace place;        // in that folder
  std::string path;      // of the session on disk, for display
  std::int64_t removed_ms = 0;
};

/// The open folder of one removed session.
struct TrashFolder {
  Dir root;  // the trash
  std::string name;
  Dir folder;
  Dir files;  // the session; its format decides what is in it
};

class Trash {
 public:
  /// "" for the user's own.
  explicit Trash(std::string folder, Disk& disk = Disk::real());

  /// The title that the list shows for a session: its own, else the beginning of its first message.
  [[nodiscard]] static std::string shown_title(const Session& session);
  /// The note of this session if it is removed now; `title` is its shown title, the path its own.
  [[nodiscard]] static Trashed describe(const Store& store, const LogPlace& place, const std::string& title);
  /// Creates the folder of a session, which the trash does not list before write_note(). Each folder is created only
  /// once, because two processes that remove one session in the same millisecond would otherwise share it. While the
  /// result lives, no process can restore the session. Errors: busy if another process has created it; io, no_space.
  Result<TrashFolder> make_folder(const Trashed& trashed);
  /// Writes the note to the disk, with the names of the folder and of what is in it, and with `rest`. Errors: io,
  /// no_space.
  Result<void> write_note(const TrashFolder& folder, const Trashed& trashed, Disk::SyncSet rest = {});
  /// Removes the note from the disk. Errors: those of the disk.
  Result<void> unlist(const TrashFolder& folder);
  /// For a session that goes back: its place has plain names, below the folder that `trashed.sessions` names, which the
  /// caller has checked (restore_session). Errors: not_found, io; corrupt if the note names no valid place.
  [[nodiscard]] Result<TrashFolder> open(const Trashed& trashed) const;
  /// Removes the trash folder of a session that is back in its store. If it cannot be removed completely, the list
  /// omits it.
  void drop(const TrashFolder& folder);
  /// Deletes a removed session for good. Whenever the process or the power fails, the list has the session with all its
  /// files or not at all; what remains of it then is left over. Errors: not_found; busy while another process removes
  /// or restores it; io.
  Result<void> erase(const Trashed& trashed);
  /// Deletes the folders without a note that no process uses: those of killed removals, restores and erase() calls. The
  /// store has the session, or it was erased. Folders that cannot be deleted stay.
  void erase_leftovers();

  /// Keeps the entries that arborfs has written to the log (ErasedEntries::written) with the session. Errors: io,
  /// no_space.
  Result<void> keep_written(const Trashed& trashed, std::string_view lines);
  /// The lines of keep_written(); "" if there are none or they cannot be read.
  [[nodiscard]] std::string written_to(const Trashed& trashed) const;
  /// Newest first.
  [[nodiscard]] std::vector<Trashed> list() const;

  [[nodiscard]] Disk& disk() const { return disk_; }
  static constexpr std::string_view kFiles = "files";

 private:
  [[nodiscard]] Result<TrashFolder> open_folder(const std::string& name) const;
  [[nodiscard]] Result<Trashed> read_note(const Dir& root, const std::string& name) const;
  const std::string folder_;
  Disk& disk_;
};

/// Held while a session is removed or restored. Errors: busy while another process does either.
Result<void> lock_for_restore(const TrashFolder& folder);

/// A store from which this user has removed sessions, in $XDG_STATE_HOME/arborfs/removed-from. A session in the trash
/// goes back only below a store that is open (CONTRACT.md 4.7), and its note alone opens none: these are opened for it
/// too, so that nobody has to name the store again.
struct RemovedFrom {
  std::string agent;
  std::string dir;  // the agent's folder, absolute
};

/// A failure only means that the store must be named when a session goes back. Any thread; if two processes write at
/// once, one of the lines is lost.
void note_removed_from(const Store& store);
/// Those noted last; none if the file cannot be read.
std::vector<RemovedFrom> removed_from();

}  // namespace arborfs
