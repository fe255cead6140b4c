#include "core/write/trash.h"

#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/os/file_tree.h"
#include "core/os/state_dir.h"
#include "core/session/session_name.h"

namespace arborfs {

namespace {

constexpr std::string_view kNote = "from.json";
constexpr std::string_view kWritten = "written.jsonl";
constexpr std::string_view kAgentOfOldNotes = "omp";
constexpr std::size_t kMaxNote = 256 * 1024;
constexpr std::size_t kShownWords = 120;  // characters of a first message
constexpr std::size_t kMaxTitle = 1024;   // for display; a longer note could not be read back
constexpr std::size_t kMaxStem = 200;
constexpr mode_t kPrivateFile = 0600;
constexpr mode_t kPrivateFolder = 0700;

std::string note_text(const Trashed& trashed) {
  json::Text note = json::Text::object();
  note.add("sessions", trashed.sessions).add("folder", trashed.place.folder).add("file", trashed.place.file);
  note.add("path", trashed.path).add("title", trashed.title).add("agent", trashed.agent);
  note.add("format", trashed.format).add("removed", json::iso_time(trashed.removed_ms));
  return note.str() + "\n";
}

/// A folder in the trash without a note, locked, so that no process can begin to use it.
struct Leftover {
  Dir folder;
  std::optional<Dir> files;
};

/// Nothing if the folder has a note, a process uses it, or it cannot be read.
std::optional<Leftover> leftover_in(const Dir& root, const std::string& name) {
  auto folder = root.open_in(name);
  if (!folder || ::flock(folder->fd(), LOCK_EX | LOCK_NB) != 0) {
    return std::nullopt;
  }
  const auto note = folder->stat(std::string(kNote));
  if (note || note.error().code != Errc::not_found) {
    return std::nullopt;
  }
  auto files = folder->open_in(std::string(Trash::kFiles));
  if (files ? ::flock(files->fd(), LOCK_EX | LOCK_NB) != 0 : files.error().code != Errc::not_found) {
    return std::nullopt;
  }
  return Leftover{std::move(*folder), files ? std::optional(std::move(*files)) : std::nullopt};
}

constexpr const char* kFile = "removed-from";
constexpr std::size_t kMost = 100;

std::string line_of(const RemovedFrom& from) {
  return from.agent + " " + from.dir + "\n";
}

}  // namespace

Trash::Trash(std::string folder, Disk& disk)
    : folder_(folder.empty() ? data_path("trash") : std::move(folder)), disk_(disk) {}

std::string Trash::shown_title(const Session& session) {
  const std::string title = session.title();
  return title.empty() ? session_name(session, kShownWords) : title;
}

Trashed Trash::describe(const Store& store, const LogPlace& place, const std::string& title) {
  Trashed trashed;
  trashed.removed_ms = now_ms();
  trashed.agent = store.format_of(place).agent;
  trashed.format = store.format_of(place).name;
  trashed.title = json::decode_utf8(std::string_view(title).substr(0, kMaxTitle));
  trashed.sessions = store.paths().sessions;
  trashed.place = place;
  trashed.path = store.path_of(place);
  std::string time = json::iso_time(trashed.removed_ms);
  std::replace(time.begin(), time.end(), ':', '-');
  trashed.name = time + "_" + std::string(place.stem().substr(0, kMaxStem));
  return trashed;
}

Result<TrashFolder> Trash::make_folder(const Trashed& trashed) {
  ASSIGN_OR_RETURN(auto root, make_private_folder(disk_, folder_));
  ASSIGN_OR_RETURN(auto folder, make_private_folder(disk_, folder_ + "/" + trashed.name, false));
  const bool is_in_use = ::flock(folder.fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (is_in_use || folder.stat(std::string(kFiles))) {
    return Error{Errc::busy, "another process is removing the session"};
  }
  RETURN_IF_ERROR(disk_.make_folder(folder, std::string(kFiles), kPrivateFolder));
  ASSIGN_OR_RETURN(auto files, folder.open_in(std::string(kFiles)));
  TrashFolder made{std::move(root), trashed.name, std::move(folder), std::move(files)};
  RETURN_IF_ERROR(lock_for_restore(made));
  return made;
}

Result<void> Trash::write_note(const TrashFolder& folder, const Trashed& trashed, Disk::SyncSet rest) {
  ASSIGN_OR_RETURN(const auto note, disk_.create(folder.folder, std::string(kNote), kPrivateFile));
  RETURN_IF_ERROR(write_all(disk_, note.get(), note_text(trashed)));
  rest.files.push_back(note.get());
  rest.folders.insert(rest.folders.end(), {&folder.folder, &folder.root});
  return disk_.sync_all(rest);
}

Result<void> Trash::unlist(const TrashFolder& folder) {
  RETURN_IF_ERROR(disk_.remove(folder.folder, std::string(kNote)));
  return disk_.sync_folder(folder.folder);
}

Result<TrashFolder> Trash::open(const Trashed& trashed) const {
  const bool has_folder = is_plain_name(trashed.place.folder) || trashed.place.folder == kSessionsItself;
  if (!is_plain_name(trashed.name) || !has_folder || !is_plain_name(trashed.place.file)) {
    return Error{Errc::corrupt, "the file from.json of the session in the trash names no valid place"};
  }
  return open_folder(trashed.name);
}

Result<TrashFolder> Trash::open_folder(const std::string& name) const {
  ASSIGN_OR_RETURN(auto root, Dir::open_root(folder_));
  ASSIGN_OR_RETURN(auto folder, root.open_in(name));
  ASSIGN_OR_RETURN(auto files, folder.open_in(std::string(kFiles)));
  return TrashFolder{std::move(root), name, std::move(folder), std::move(files)};
}

void Trash::drop(const TrashFolder& folder) {
  const auto unlisted = disk_.remove(folder.folder, std::string(kNote));  // list() leaves out a folder without note
  if (unlisted || unlisted.error().code == Errc::not_found) {
    static_cast<void>(remove_tree(disk_, folder.root, folder.name));
  }
}

Result<void> Trash::erase(const Trashed& trashed) {
  ASSIGN_OR_RETURN(const auto folder, open_folder(trashed.name));
  RETURN_IF_ERROR(lock_for_restore(folder));
  RETURN_IF_ERROR(disk_.remove(folder.folder, std::string(kNote)));
  if (auto synced = disk_.sync_folder(folder.folder); !synced) {  // else a power cut may bring the note back alone
    static_cast<void>(write_note(folder, trashed));
    return synced;
  }
  if (auto removed = remove_tree(disk_, folder.root, folder.name); !removed) {
    return Error{removed.error().code,
                 removed.error().message + "; remove the folder " + folder_ + "/" + folder.name + " yourself"};
  }
  return {};
}

void Trash::erase_leftovers() {
  const auto root = Dir::open_root(folder_);
  const auto entries = root ? root->list() : Result<std::vector<DirEntry>>(root.error());
  if (!entries) {
    return;
  }
  for (const DirEntry& entry : *entries) {
    if (const auto leftover = leftover_in(*root, entry.name)) {
      static_cast<void>(remove_tree(disk_, *root, entry.name));
    }
  }
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
  const auto field = [&](std::string_view key, std::string_view otherwise = {}) {
    return std::string(json::string_member(note, key).value_or(otherwise));
  };
  if (!json::parse(text, note) || field("file").empty()) {
    return Error{Errc::corrupt, "the file from.json of the session in the trash cannot be read"};
  }
  Trashed trashed;
  trashed.name = name;
  trashed.agent = field("agent", kAgentOfOldNotes);
  trashed.format = field("format");
  trashed.title = field("title");
  trashed.sessions = field("sessions");
  trashed.place = {field("folder"), field("file")};
  trashed.path = field("path", folder_path(trashed.sessions, trashed.place.folder) + "/" + trashed.place.file);
  trashed.removed_ms = json::parse_date(field("removed")).value_or(0);
  return trashed;
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

Result<void> lock_for_restore(const TrashFolder& folder) {
  if (::flock(folder.files.fd(), LOCK_EX | LOCK_NB) != 0) {
    return Error{Errc::busy, "another process is removing or restoring the session"};
  }
  return {};
}

std::vector<RemovedFrom> removed_from() {
  std::vector<RemovedFrom> found;
  const auto folder = open_private_folder(state_path(""));
  const auto text = folder ? read_private_file(*folder, kFile) : Result<std::string>(folder.error());
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos && found.size() < kMost;
       end = rest.find('\n')) {
    const std::string_view line = rest.substr(0, end);
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos && line.substr(space + 1).starts_with('/')) {
      found.push_back({std::string(line.substr(0, space)), std::string(line.substr(space + 1))});
    }
    rest.remove_prefix(end + 1);
  }
  return found;
}

void note_removed_from(const Store& store) {
  const RemovedFrom noted{std::string(store.format().agent), store.paths().agent_dir};
  const auto all = removed_from();
  const bool is_known = std::any_of(
      all.begin(), all.end(), [&](const RemovedFrom& one) { return one.agent == noted.agent && one.dir == noted.dir; });
  if (is_known || !noted.dir.starts_with('/') || noted.dir.find('\n') != std::string::npos) {
    return;
  }
  std::string text = line_of(noted);
  for (std::size_t i = 0; i < all.size() && i + 1 < kMost; ++i) {
    text += line_of(all[i]);
  }
  Disk& disk = Disk::real();
  if (const auto folder = make_private_folder(disk, state_path(""))) {
    static_cast<void>(replace_private_file(disk, *folder, kFile, text));
  }
}

}  // namespace arborfs
