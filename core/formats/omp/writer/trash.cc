#include "core/formats/omp/writer/trash.h"

#include <sys/file.h>

#include <algorithm>
#include <filesystem>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/formats/omp/store/omp_log_change.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/os/file_hash.h"
#include "core/os/file_tree.h"
#include "core/os/state_dir.h"

namespace arborfs {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNote = "from.json";
constexpr std::string_view kFiles = "files";
constexpr std::string_view kWritten = "written.jsonl";
constexpr std::size_t kMaxNote = 64 * 1024;
constexpr mode_t kPrivateFile = 0600;
constexpr mode_t kPrivateFolder = 0700;

std::string note_text(const Trashed& trashed) {
  std::string text = "{\"sessions\":";
  json::stringify_string(trashed.sessions, text);
  text += ",\"folder\":";
  json::stringify_string(trashed.place.folder, text);
  text += ",\"file\":";
  json::stringify_string(trashed.place.file, text);
  text += ",\"title\":";
  json::stringify_string(trashed.title, text);
  return text + ",\"removed\":\"" + json::iso_time(trashed.removed_ms) + "\"}\n";
}

/// The names of all files that belong to a log in its folder, the log last.
Result<std::vector<std::string>> log_last(const Dir& folder, const std::string& log) {
  auto names = omp_belongings(folder, log);
  if (names) {
    std::stable_partition(names->begin(), names->end(), [&](const std::string& name) { return name != log; });
  }
  return names;
}

/// Removes in reverse order.
void remove_all(Disk& disk, const Dir& folder, const std::vector<std::string>& names) {
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    static_cast<void>(remove_tree(disk, folder, *name));
  }
}

/// Copies all that belongs to a log across file systems: first the log as a draft, which marks a copy in progress, then
/// the rest. The log gets its name when everything is there. An error leaves nothing behind, and the remains of a
/// killed copy do not block the next one. One caller at a time. Errors: already_exists, io, no_space.
Result<void> copy_belongings(Disk& disk, const Dir& from, const std::string& log, const Dir& to) {
  const std::string draft = "." + log + ".0000000000000000.tmp";  // agents take it for a rewrite in progress
  ASSIGN_OR_RETURN(const auto names, log_last(from, log));
  if (to.stat(draft) && !to.stat(log)) {
    remove_all(disk, to, names);
    static_cast<void>(remove_tree(disk, to, draft));
  }
  if (std::any_of(names.begin(), names.end(), [&](const std::string& name) { return to.stat(name).has_value(); })) {
    return Error{Errc::already_exists, "the folder already has a session of that name"};
  }
  std::vector<std::string> copied{draft};
  auto done = copy_tree(disk, from, log, to, draft);
  done = done ? disk.sync_folder(to) : done;
  for (std::size_t i = 0; done && i < names.size(); ++i) {
    if (const std::string& name = (names)[i]; name != log) {
      copied.push_back(name);
      done = copy_tree(disk, from, name, to, name);
    }
  }
  done = done ? disk.rename(to, draft, to, log, Disk::Existing::keep) : done;
  if (done) {
    copied.push_back(log);
    done = disk.sync_folder(to);
  }
  if (!done) {
    remove_all(disk, to, copied);
  }
  return done;
}

/// Removes the files of a log that was copied and is gone already. Without the log they mean nothing to an agent;
/// doctor reports those that stay. Errors: io if a power cut may bring them all back.
Result<void> remove_belongings(Disk& disk, const Dir& folder, const std::string& log) {
  const auto names = log_last(folder, log);
  for (std::size_t i = 0; names && i < names->size(); ++i) {
    static_cast<void>(remove_tree(disk, folder, (*names)[i]));
  }
  if (auto synced = disk.sync_folder(folder); !synced) {
    return Error{Errc::io, synced.error().message + "; the session is in the trash, but a power cut may bring it back"};
  }
  return {};
}

Result<std::string> hash_of(const Dir& folder, const std::string& name) {
  ASSIGN_OR_RETURN(const auto file, File::open_in(folder, name));
  return sha256_of(file);
}

/// True if everything that belongs to the log is in `to` and the logs are equal: the copy is complete, and only the
/// original is left to remove.
bool is_copied(const Dir& from, const std::string& log, const Dir& to) {
  const auto names = log_last(from, log);
  const auto is_there = [&](const std::string& name) { return to.stat(name).has_value(); };
  if (!names || !std::all_of(names->begin(), names->end(), is_there)) {
    return false;
  }
  const auto original = hash_of(from, log);
  const auto copy = original ? hash_of(to, log) : original;
  return copy && *copy == *original;
}

/// Names the file that keeps a session from being restored, and the way out.
Error name_is_taken(const Trashed& trashed, const Dir& folder) {
  const auto there = omp_belongings(folder, trashed.place.file);
  const bool is_beside = there && !there->empty() && !folder.stat(trashed.place.file);
  const std::string& name = is_beside ? there->front() : trashed.place.file;
  return {Errc::already_exists, trashed.sessions + "/" + trashed.place.folder + "/" + name +
                                    " exists again; move it away and run: arborfs restore " + trashed.name};
}

}  // namespace

Trash::Trash(std::string folder, Disk& disk)
    : folder_(folder.empty() ? data_path("trash") : std::move(folder)), disk_(disk) {}

/// The folder of one removed session in the trash.
struct Trash::Place {
  Dir root;
  std::string name;
  Dir folder;
  Dir files;
};

Result<Trash::Place> Trash::make_place(const Trashed& trashed) {
  ASSIGN_OR_RETURN(auto root, make_private_folder(disk_, folder_));
  ASSIGN_OR_RETURN(auto folder, make_private_folder(disk_, folder_ + "/" + trashed.name));
  RETURN_IF_ERROR(disk_.make_folder(folder, std::string(kFiles), kPrivateFolder));
  ASSIGN_OR_RETURN(auto files, folder.open_in(std::string(kFiles)));
  return Place{std::move(root), trashed.name, std::move(folder), std::move(files)};
}

Result<void> Trash::write_note(const Place& place, const Trashed& trashed) {
  ASSIGN_OR_RETURN(const auto note, disk_.create(place.folder, std::string(kNote), kPrivateFile));
  RETURN_IF_ERROR(write_all(disk_, note.get(), note_text(trashed)));
  RETURN_IF_ERROR(disk_.sync(note.get()));
  return disk_.sync_folder(place.folder);
}

/// take() across file systems, where a rename is impossible.
Result<void> Trash::copy_away(SessionStore& store, const LogPlace& log, const Dir& files) {
  const auto source = store.folder(log);
  auto done = source ? copy_belongings(disk_, *source, log.file, files) : Result<void>(source.error());
  if (!done) {
    return done;
  }
  const auto before = hash_of(*source, log.file);
  const auto after = before ? hash_of(files, log.file) : before;
  done = after ? Result<void>() : Result<void>(after.error());
  if (after && *before != *after) {
    done = Error{Errc::io, "the copy in the trash differs from the log, so the session is not removed; try again"};
  }
  done = done ? disk_.remove(*source, log.file) : done;
  if (done) {
    return remove_belongings(disk_, *source, log.file);
  }
  const auto names = log_last(files, log.file);
  for (std::size_t i = 0; names && i < names->size(); ++i) {
    static_cast<void>(remove_tree(disk_, files, (*names)[i]));
  }
  return done;
}

/// Undoes a failed take(): moves the session back, and removes its folder in the trash if it is empty. Files that
/// cannot go back stay there with their note, to be restored.
void Trash::give_back(SessionStore& store, const LogPlace& log, const Place& place) {
  if (place.files.stat(log.file)) {
    if (auto source = store.folder(log)) {
      static_cast<void>(move_omp_log(disk_, place.files, log.file, *source, log.file));
    }
  }
  if (disk_.remove_folder(place.folder, std::string(kFiles))) {
    static_cast<void>(remove_tree(disk_, place.root, place.name));
  }
}

Result<Trashed> Trash::take(SessionStore& store, const LogPlace& place, const std::string& title) {
  Trashed trashed;
  trashed.removed_ms = now_ms();
  trashed.title = title;
  trashed.sessions = store.paths().sessions;
  trashed.place = place;
  std::string time = json::iso_time(trashed.removed_ms);
  std::replace(time.begin(), time.end(), ':', '-');
  trashed.name = time + "_" + fs::path(place.file).stem().string().substr(0, 200);
  ASSIGN_OR_RETURN(const auto there, make_place(trashed));
  auto done = write_note(there, trashed);
  done = done ? store.remove(place, there.files) : done;
  if (!done && done.error().code == Errc::unsupported) {
    done = copy_away(store, place, there.files);
  }
  if (!done) {
    give_back(store, place, there);
    return done.error();
  }
  return trashed;
}

Result<void> Trash::keep_written(const Trashed& trashed, std::string_view lines) {
  if (lines.empty()) {
    return {};
  }
  ASSIGN_OR_RETURN(const auto root, Dir::open_root(folder_));
  ASSIGN_OR_RETURN(const auto there, root.open_in(trashed.name));
  return replace_private_file(disk_, there, std::string(kWritten), lines);
}

std::string Trash::written_to(const Trashed& trashed) const {
  const auto root = Dir::open_root(folder_);
  const auto there = root ? root->open_in(trashed.name) : Result<Dir>(root.error());
  const auto lines = there ? read_private_file(*there, std::string(kWritten)) : Result<std::string>(there.error());
  return lines ? *lines : std::string();
}

Result<Trashed> Trash::read_note(const Dir& root, const std::string& name) const {
  ASSIGN_OR_RETURN(const auto folder, root.open_in(name));
  ASSIGN_OR_RETURN(const auto file, File::open_in(folder, std::string(kNote)));
  std::string text(kMaxNote, '\0');
  ASSIGN_OR_RETURN(const auto got, file.read_at(0, text));
  text.resize(got);
  json::Document note;
  const auto field = [&](std::string_view key) {
    return std::string(json::string_member(note, key).value_or(std::string_view()));
  };
  if (!json::parse(text, note) || field("file").empty()) {
    return Error{Errc::corrupt, "the file from.json of the session in the trash cannot be read"};
  }
  return Trashed{name,
                 field("title"),
                 field("sessions"),
                 {field("folder"), field("file")},
                 json::parse_date(field("removed")).value_or(0)};
}

std::vector<Trashed> Trash::list() const {
  std::vector<Trashed> found;
  auto root = Dir::open_root(folder_);
  auto entries = root ? root->list() : Result<std::vector<DirEntry>>(root.error());
  if (!entries) {
    return found;
  }
  for (const auto& entry : *entries) {
    if (auto note = read_note(*root, entry.name)) {
      found.push_back(std::move(*note));
    }
  }
  std::sort(found.begin(), found.end(), [](const Trashed& a, const Trashed& b) { return a.removed_ms > b.removed_ms; });
  return found;
}

Result<void> Trash::restore(const Trashed& trashed) {
  if (!is_plain_name(trashed.name) || !is_plain_name(trashed.place.folder) || !is_plain_name(trashed.place.file)) {
    return Error{Errc::corrupt, "the file from.json of the session in the trash names no valid place"};
  }
  ASSIGN_OR_RETURN(const auto root, Dir::open_root(folder_));
  ASSIGN_OR_RETURN(const auto there, root.open_in(trashed.name));
  ASSIGN_OR_RETURN(const auto files, there.open_in(std::string(kFiles)));
  ASSIGN_OR_RETURN(const auto sessions, Dir::open_root(trashed.sessions));
  RETURN_IF_ERROR(disk_.make_folder(sessions, trashed.place.folder, 0777));
  RETURN_IF_ERROR(disk_.sync_folder(sessions));
  ASSIGN_OR_RETURN(const auto folder, sessions.open_in(trashed.place.folder));
  if (::flock(files.fd(), LOCK_EX | LOCK_NB) != 0) {
    return Error{Errc::busy, "another process is restoring the session"};
  }
  auto moved = move_omp_log(disk_, files, trashed.place.file, folder, trashed.place.file);
  if (!moved && moved.error().code == Errc::unsupported && !is_copied(files, trashed.place.file, folder)) {
    moved = copy_belongings(disk_, files, trashed.place.file, folder);
  } else if (!moved && moved.error().code == Errc::unsupported) {
    moved = {};
  }
  if (!moved && moved.error().code == Errc::already_exists) {
    return name_is_taken(trashed, folder);
  }
  moved = moved ? disk_.sync_folder(folder) : moved;
  if (moved && disk_.remove(there, std::string(kNote))) {  // first: list() leaves out a folder without note
    static_cast<void>(remove_tree(disk_, root, trashed.name));
  }
  return moved;
}

}  // namespace arborfs
