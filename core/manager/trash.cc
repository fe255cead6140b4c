#include "core/manager/trash.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include "core/base/hash.h"
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

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

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

/// Copies what belongs to a log across file systems; the library's copy takes over content and permissions.
Result<void> copy_belongings(const fs::path& from, const LogPlace& place, const fs::path& to) {
  std::error_code failed;
  const std::string stem = fs::path(place.file).stem().string();
  for (const auto& entry : fs::directory_iterator(from, failed)) {
    const std::string name = entry.path().filename().string();
    const bool is_backup = name.starts_with(place.file + ".") && name.ends_with(".bak");
    if (name == place.file || name == stem || is_backup) {
      fs::copy(entry.path(), to / name, fs::copy_options::recursive | fs::copy_options::copy_symlinks, failed);
      if (failed) {
        return error_from_errno(failed.value(), "copy to the trash");
      }
    }
  }
  return failed ? Result<void>(error_from_errno(failed.value(), "read the log's folder")) : Result<void>();
}

Result<std::string> hash_of(const Dir& folder, const std::string& name) {
  auto file = File::open_in(folder, name);
  if (!file) {
    return file.error();
  }
  Sha256 digest;
  std::string buffer(1 << 20, '\0');
  for (std::uint64_t at = 0;;) {
    auto got = file->read_at(at, buffer);
    if (!got) {
      return got.error();
    }
    digest.update(std::string_view(buffer).substr(0, *got));
    at += *got;
    if (*got < buffer.size()) {
      return digest.finish_hex();
    }
  }
}

}  // namespace

Trash::Trash(std::string folder, Disk& disk)
    : folder_(folder.empty() ? data_path("trash") : std::move(folder)), disk_(disk) {}

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
  auto done = note ? write_all(disk_, note->get(), note_text(trashed)) : Result<void>(note.error());
  done = done ? disk_.sync(note->get()) : done;
  done = done ? store.remove(place, *files) : done;
  if (!done && done.error().code == Errc::unsupported) {
    done = copy_belongings(fs::path(trashed.sessions) / place.folder, place, fs::path(path) / kFiles);
    auto source = done ? store.folder(place) : Result<Dir>(done.error());
    const auto before = source ? hash_of(*source, place.file) : Result<std::string>(source.error());
    const auto after = before ? hash_of(*files, place.file) : before;
    if (!after) {
      done = after.error();
    } else if (*before != *after) {
      done = Error{Errc::io, "the copy in the trash is not the log"};
    } else {
      const auto copy = File::open_in(*files, place.file);
      done = copy ? disk_.sync(copy->fd()) : Result<void>(copy.error());
      done = done ? disk_.sync_folder(*files) : done;
      done = done ? disk_.remove(*source, place.file) : done;
      std::error_code ignored;
      fs::remove_all(fs::path(trashed.sessions) / place.folder / fs::path(place.file).stem(), ignored);
    }
  }
  if (!done) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
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
  return Trashed{name, field("title"), field("sessions"), {field("folder"), field("file")},
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
    if (folder->stat(trashed.place.file)) {
      return Error{Errc::already_exists, "a log lies in its old place"};
    }
    moved = copy_belongings(folder_ + "/" + trashed.name + "/" + std::string(kFiles), trashed.place,
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
