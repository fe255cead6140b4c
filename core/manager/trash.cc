#include "core/manager/trash.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/base/clock.h"
#include "core/env/file_hash.h"
#include "core/env/state_dir.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/store/omp_log_change.h"

namespace arborfs {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNote = "from.json";
constexpr std::string_view kFiles = "files";
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

/// What belongs to a log in its folder, the log itself last. Throws where the folder cannot be read.
std::vector<std::string> log_last(const Dir& folder, const std::string& log) {
  auto names = omp_belongings(folder, log);
  if (!names) {
    throw fs::filesystem_error("read the log's folder", std::make_error_code(std::errc::io_error));
  }
  std::stable_partition(names->begin(), names->end(), [&](const std::string& name) { return name != log; });
  return std::move(*names);
}

/// A file, or a folder with all below it, with permissions and times, on the disk when it returns. Throws.
void copy_whole(Disk& disk, const fs::path& from, const fs::path& to) {
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const auto settle = [&](const fs::path& source, const fs::path& copy) {
    if (fs::is_symlink(source)) {
      return;
    }
    fs::last_write_time(copy, fs::last_write_time(source));
    const UniqueFd fd(::open(copy.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd || !disk.sync(fd.get())) {
      throw fs::filesystem_error("sync", std::make_error_code(std::errc::io_error));
    }
  };
  if (fs::is_directory(fs::symlink_status(from))) {
    for (const auto& entry : fs::recursive_directory_iterator(from)) {
      settle(entry.path(), to / fs::relative(entry.path(), from));
    }
  }
  settle(from, to);
}

/// Copies what belongs to a log across file systems. The log has its name when it and all else is there; on an error
/// nothing is. Errors: already_exists, io, no_space.
Result<void> copy_belongings(Disk& disk, const fs::path& from, const std::string& log, const fs::path& to) {
  const std::string draft = "." + log + ".0000000000000000.tmp";  // what agents know as a rewrite in progress
  std::vector<fs::path> copied;
  Error failure;
  try {
    auto folder = Dir::open_root(to.string());
    if (!folder) {
      return folder.error();
    }
    auto source = Dir::open_root(from.string());
    if (!source) {
      return source.error();
    }
    for (const std::string& name : log_last(*source, log)) {
      if (fs::exists(fs::symlink_status(to / name))) {
        throw fs::filesystem_error("copy", std::make_error_code(std::errc::file_exists));
      }
      copied.push_back(to / (name == log ? draft : name));
      copy_whole(disk, from / name, copied.back());
    }
    auto named = disk.rename(*folder, draft, *folder, log, Disk::Existing::keep);
    if (named) {
      return disk.sync_folder(*folder);
    }
    failure = named.error();
  } catch (const fs::filesystem_error& failed) {
    failure = error_from_errno(failed.code().value(), "copy the session to another file system");
  }
  std::error_code ignored;
  for (const fs::path& path : copied) {
    fs::remove_all(path, ignored);
  }
  return failure;
}

/// Takes away what was copied, the log first: without it the rest means nothing to an agent.
Result<void> remove_belongings(Disk& disk, const Dir& folder, const fs::path& path, const std::string& log) {
  if (auto removed = disk.remove(folder, log); !removed) {
    return removed;
  }
  try {
    for (const std::string& name : log_last(folder, log)) {
      fs::remove_all(path / name);
    }
  } catch (const fs::filesystem_error&) {
    return {};  // leftovers beside a log that is gone; doctor names them
  }
  static_cast<void>(disk.sync_folder(folder));  // undone by a power cut, it is there twice
  return {};
}

Result<std::string> hash_of(const Dir& folder, const std::string& name) {
  auto file = File::open_in(folder, name);
  return file ? sha256_of(*file) : Result<std::string>(file.error());
}

}  // namespace

Trash::Trash(std::string folder, Disk& disk)
    : folder_(folder.empty() ? data_path("trash") : std::move(folder)), disk_(disk) {}

/// take() where a rename cannot go.
Result<void> Trash::copy_away(SessionStore& store, const LogPlace& place, const Dir& files, const std::string& to) {
  const fs::path from = fs::path(store.paths().sessions) / place.folder;
  auto source = store.folder(place);
  if (!source) {
    return source.error();
  }
  if (auto copied = copy_belongings(disk_, from, place.file, to); !copied) {
    return copied;
  }
  const auto before = hash_of(*source, place.file);
  const auto after = before ? hash_of(files, place.file) : before;
  auto done = after ? Result<void>() : Result<void>(after.error());
  if (after && *before != *after) {
    done = Error{Errc::io, "the copy in the trash is not the log"};
  }
  done = done ? remove_belongings(disk_, *source, from, place.file) : done;
  if (!done) {
    std::error_code ignored;
    fs::remove_all(to, ignored);
  }
  return done;
}

/// After a failed take(): all that is in the trash goes back, and the trash folder goes when it is empty. What cannot
/// go back stays there with its note, to be restored.
void Trash::give_back(SessionStore& store, const LogPlace& place, const Dir& files, const std::string& path) {
  if (files.stat(place.file)) {
    if (auto source = store.folder(place)) {
      static_cast<void>(move_omp_log(disk_, files, place.file, *source, place.file));
    }
  }
  std::error_code failed;
  fs::remove(fs::path(path) / kFiles, failed);
  if (!failed) {
    fs::remove(fs::path(path) / kNote, failed);
    fs::remove(path, failed);
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
  const std::string path = folder_ + "/" + trashed.name;
  auto folder = make_private_folder(disk_, path);
  auto made = folder ? disk_.make_folder(*folder, std::string(kFiles), kPrivateFolder) : Result<void>(folder.error());
  auto files = made ? folder->open_in(std::string(kFiles)) : Result<Dir>(made.error());
  if (!files) {
    return files.error();
  }
  auto note = disk_.create(*folder, std::string(kNote), kPrivateFile);
  if (!note) {
    return note.error();
  }
  auto done = write_all(disk_, note->get(), note_text(trashed));
  done = done ? disk_.sync(note->get()) : done;
  done = done ? store.remove(place, *files) : done;
  if (!done && done.error().code == Errc::unsupported) {
    done = copy_away(store, place, *files, path + "/" + std::string(kFiles));
  }
  if (!done) {
    give_back(store, place, *files, path);
    return done.error();
  }
  return trashed;
}

Result<Trashed> Trash::read_note(const Dir& root, const std::string& name) const {
  auto folder = root.open_in(name);
  auto file = folder ? File::open_in(*folder, std::string(kNote)) : Result<File>(folder.error());
  std::string text(kMaxNote, '\0');
  const auto got = file ? file->read_at(0, text) : Result<std::size_t>(file.error());
  if (!got) {
    return got.error();
  }
  text.resize(*got);
  json::Document note;
  const auto field = [&](std::string_view key) {
    return std::string(json::string_member(note, key).value_or(std::string_view()));
  };
  if (!json::parse(text, note) || field("file").empty()) {
    return Error{Errc::corrupt, "the note in the trash cannot be read"};
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
    return Error{Errc::corrupt, "the note in the trash cannot be believed"};
  }
  auto files = Dir::open_root(folder_ + "/" + trashed.name + "/" + std::string(kFiles));
  auto sessions = files ? Dir::open_root(trashed.sessions) : Result<Dir>(files.error());
  if (!sessions) {
    return sessions.error();
  }
  if (auto made = disk_.make_folder(*sessions, trashed.place.folder, 0777); !made) {
    return made;
  }
  auto folder = sessions->open_in(trashed.place.folder);
  if (!folder) {
    return folder.error();
  }
  auto moved = move_omp_log(disk_, *files, trashed.place.file, *folder, trashed.place.file);
  if (!moved && moved.error().code == Errc::unsupported) {
    moved = copy_belongings(disk_, folder_ + "/" + trashed.name + "/" + std::string(kFiles), trashed.place.file,
                            fs::path(trashed.sessions) / trashed.place.folder);
  }
  if (!moved) {
    return moved;
  }
  if (auto synced = disk_.sync_folder(*folder); !synced) {
    return synced;
  }
  std::error_code ignored;
  fs::remove_all(folder_ + "/" + trashed.name, ignored);
  return {};
}

}  // namespace arborfs
