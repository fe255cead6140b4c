// Changes of what Codex keeps about threads outside their rollouts: rows of its database, each in one short
// transaction, and the file of names (codex/FORMAT.md H1). Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/codex/store.h"
#include "core/store/effect.h"

namespace arborfs::codex {

/// Gives a thread a name, as Codex does. `now` is how the thread was found. Errors: unsupported for a database whose
/// schema is not known; not_found if Codex takes the name from a row that the database does not have; busy while
/// another program writes to the database; those of the disk. The name is then the old one. Returns what changed.
Result<std::vector<Effect>> set_name(const ThreadStore& store, const std::string& thread, const ThreadNow& now,
                                     const std::string& name, bool sync);

/// A thread that has no row yet.
struct NewThread {
  std::string id;
  std::string path;  // of its file, absolute
  std::int64_t time_ms = 0;
  std::string model_provider;
  std::string cwd;
  std::string first_prompt;
  std::string name;  // "" for none
};

/// Inserts the row of a paginated thread, without which Codex's list of threads lacks it (H4), and adds its name. Does
/// nothing for the row without a database, and with one whose schema is not known. Returns what changed. Errors: busy,
/// corrupt; those of the disk.
Result<std::vector<Effect>> add_thread(const ThreadStore& store, const NewThread& thread, bool sync);

/// The path of the database with the rows of threads. Errors: not_found; unsupported for a schema that is not known.
Result<std::string> known_database(const std::string& home);

/// The path of the active segment, as the row of the thread has it. Errors: as set_name().
Result<std::string> path_in_row(const ThreadStore& store, const std::string& thread);
/// Fails as set_path() would fail.
Result<void> check_path(const ThreadStore& store, const std::string& thread, const ThreadNow& now);
/// Says which segment of a thread Codex goes on with (C7). Returns what changed. Errors: as set_name().
Result<Effect> set_path(const ThreadStore& store, const std::string& thread, const std::string& path, bool sync);

/// Puts a thread into the section of pinned threads, or takes it out of its section. Returns what changed. Errors: as
/// check_path(), set_path().
Result<std::vector<Effect>> set_pinned(const ThreadStore& store, const std::string& thread, const ThreadNow& now,
                                       bool is_pinned, bool sync);
/// Leaves a message in Codex's own queue: Codex runs it as a turn of its own, before the next prompt or after the turn
/// in progress, also in a thread that it holds (H8). Returns the id of the row. Errors: not_found if this Codex has no
/// queue; unsupported for a schema that is not known; busy while another program writes to it, or if the queue is full;
/// those of the disk.
Result<std::string> queue_message(const ThreadStore& store, const std::string& thread, std::string_view text,
                                  bool sync);

/// Moves the files of all segments to the archive, or back, and says so in the row, if there is one. Completes a move
/// that was interrupted. Errors: unsupported for a database whose schema is not known; busy; already_exists; those of
/// the disk. The files are then where they were, as far as the disk allows.
Result<void> set_archived(const ThreadStore& store, const std::string& thread, const ThreadNow& now, bool is_archived,
                          bool sync);

}  // namespace arborfs::codex
