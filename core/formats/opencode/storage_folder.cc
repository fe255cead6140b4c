#include "core/formats/opencode/storage_folder.h"

#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/formats/opencode/json_archive.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/write/new_file.h"

namespace arborfs::opencode {
namespace {

constexpr std::chrono::seconds kPatienceForLock{5};
constexpr mode_t kPrivateMode = 0600;

constexpr std::size_t kIndent = 2;

void start_line(std::size_t depth, std::string& out) {
  out.append("\n").append(depth * kIndent, ' ');
}

/// JSON without white space between tokens, as JSON.stringify(value, null, 2) writes it.
std::string indented(std::string_view json) {
  std::string out;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    const bool opens = c == '{' || c == '[';
    const bool closes = c == '}' || c == ']';
    if (c == '"') {
      const std::size_t begin = i;
      for (++i; json[i] != '"'; ++i) {
        i += json[i] == '\\' ? 1U : 0U;
      }
      out += json.substr(begin, i + 1 - begin);
    } else if (opens && (json[i + 1] == '}' || json[i + 1] == ']')) {
      out += json.substr(i, 2);
      ++i;
    } else if (opens || c == ',') {
      depth += opens ? 1 : 0;
      out += c;
      start_line(depth, out);
    } else if (closes) {
      start_line(--depth, out);
      out += c;
    } else {
      out += c;
      out += c == ':' ? " " : "";
    }
  }
  return out;
}

}  // namespace

Result<StorageFolder> StorageFolder::open(const std::string& path) {
  ASSIGN_OR_RETURN(auto root, Dir::open_root(path));
  return StorageFolder(path, std::move(root));
}

Result<StorageFolder> StorageFolder::lock(const std::string& path) {
  ASSIGN_OR_RETURN(auto folder, open(path));
  ASSIGN_OR_RETURN(const bool is_locked, wait_for_flock(folder.root_.fd(), kPatienceForLock));
  if (!is_locked) {
    return Error{Errc::busy, "another arborfs process is writing to OpenCode's files; try again"};
  }
  return folder;
}

Result<Dir> StorageFolder::folder(const std::string& kind, const std::string& name) const {
  ASSIGN_OR_RETURN(auto dir, root_.open_in(kind));
  if (name.empty()) {
    return dir;
  }
  return is_plain_name(name) ? dir.open_in(name) : Result<Dir>(Errc::not_found, "no such folder");
}

Result<void> StorageFolder::each_project(const VisitProject& visit) const {
  const auto sessions = folder("session");
  const auto projects = sessions ? sessions->list() : Result<std::vector<DirEntry>>(sessions.error());
  if (!projects) {
    return projects.error().code == Errc::not_found ? Result<void>() : Result<void>(projects.error());
  }
  for (const DirEntry& project : *projects) {
    const auto dir = project.type == DT_DIR ? sessions->open_in(project.name) : Result<Dir>(Errc::not_found, "");
    if (dir) {
      RETURN_IF_ERROR(visit(project.name, *dir));
    } else if (dir.error().code != Errc::not_found) {
      return dir.error();
    }
  }
  return {};
}

Result<bool> StorageFolder::has_session(const std::string& id) const {
  bool is_there = false;
  const auto look = [&](const std::string& /*project*/, const Dir& sessions) -> Result<void> {
    const auto found = sessions.stat(file_of_id(id));
    is_there = is_there || found;
    return found || found.error().code == Errc::not_found ? Result<void>() : Result<void>(found.error());
  };
  const auto looked = each_project(look);
  return is_there || looked ? Result<bool>(is_there) : looked.error();
}

Result<std::vector<SessionName>> StorageFolder::family_of(const SessionName& session) const {
  std::map<std::string, std::vector<SessionName>> by_parent;
  bool is_there = false;
  const auto note_parents = [&](const std::string& project, const Dir& dir) -> Result<void> {
    ASSIGN_OR_RETURN(const auto ids, all_ids_in(dir));
    for (const std::string& id : ids) {
      const auto text = whole_text_in(dir, id);
      if (!text && text.error().code == Errc::not_found) {
        continue;  // removed meanwhile
      }
      RETURN_IF_ERROR(text);
      is_there = is_there || SessionName{project, id} == session;
      const auto parent = skim::string_value(skim::member(*text, "parentID"));
      by_parent[parent.value_or("")].push_back({project, id});
    }
    return {};
  };
  RETURN_IF_ERROR(each_project(note_parents));
  if (!is_there) {
    return session_gone();
  }
  std::vector<SessionName> found{session};
  std::set<std::string> known{session.id};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const SessionName& child : by_parent[found[i].id]) {
      if (known.insert(child.id).second) {
        found.push_back(child);
      }
    }
  }
  return found;
}

Result<void> StorageFolder::check_quiet(const std::vector<SessionName>& sessions) const {
  const auto archive = make_json_archive(path_);
  for (const SessionName& session : sessions) {
    if (archive->is_answering(session)) {
      return Error{Errc::busy,
                   "OpenCode is answering in the session " + session.id + "; wait for the end of the answer"};
    }
  }
  return {};
}

std::string storage_of(const std::string& sessions) {
  return sessions.substr(0, sessions.rfind('/'));
}

void clear_drafts(Disk& disk, const Dir& folder) {
  remove_leftovers(disk, folder, is_draft_name);
}

Result<TempFile::Ptr> draft_of(Disk& disk, const Dir& folder, const std::string& name, std::string_view text, bool sync,
                               std::optional<mode_t> mode) {
  const auto present = File::open_in(folder, name);
  ASSIGN_OR_RETURN(auto draft, TempFile::create(disk, folder, present || mode ? kPrivateMode : kFileMode));
  if (present) {
    RETURN_IF_ERROR(draft->keep_attributes(*present));
  } else if (mode) {
    RETURN_IF_ERROR(disk.set_mode(draft->fd(), *mode & kAnyPermissions));
  }
  RETURN_IF_ERROR(draft->write(text));
  RETURN_IF_ERROR(draft->finish(sync));
  return draft;
}

Result<std::string> with_title(const std::string& session, std::string_view title) {
  json::Document object;
  if (!json::parse(session, object) || !object.IsObject()) {
    return Error{Errc::corrupt, "the file of the session is not a JSON object"};
  }
  return skim::set_member(session, "title", json::stringify_string(title), skim::Layout::lines);
}

std::string with_time(const std::string& session, std::int64_t time_ms) {
  const std::string_view time = skim::member(session, "time");
  const std::string_view updated = skim::member(time, "updated");
  double present = 0;
  const auto [end, failed] = std::from_chars(updated.data(), updated.data() + updated.size(), present);
  const bool is_later = !updated.empty() && failed == std::errc() && present < static_cast<double>(time_ms);
  return is_later ? skim::set_member(session, "time",
                                     skim::set_member(std::string(time), "updated", std::to_string(time_ms)))
                  : session;
}

bool has_revert(std::string_view session) {
  return skim::member(session, "revert").starts_with('{');
}

FileBatch::~FileBatch() {
  while (!made_.empty() && remove(made_.back())) {
    made_.pop_back();
  }
}

std::vector<Effect> FileBatch::keep() {
  std::vector<Effect> effects;
  for (const Made& made : std::exchange(made_, {})) {
    std::string path = storage_;
    for (const std::string& folder : made.folders) {
      path += "/" + folder;
    }
    effects.push_back(effect_of(made_file(path + "/" + made.name, made.text)));
  }
  return effects;
}

Result<void> FileBatch::write(const std::vector<std::string>& folders, const std::string& name, std::string_view text) {
  made_.push_back({folders, name, std::string(text)});
  const auto folder = make_folders(disk_, storage_, folders, kFolderMode, sync_);
  auto written =
      folder ? write_whole_file(disk_, *folder, name, kFileMode & permissions_, text, Disk::Existing::keep, sync_)
             : Result<void>(folder.error());
  if (!written && written.error().code == Errc::already_exists) {
    made_.pop_back();
  }
  return written;
}

Result<void> FileBatch::write(const std::string& session, const MessageRecords& message, Layout layout) {
  const auto object = [&](const NewRecord& record, const std::string& of_message) {
    std::string text = R"({"id":)" + json::stringify_string(record.id) + R"(,"sessionID":)" +
                       json::stringify_string(session) + of_message + "," + record.members + "}";
    return layout == Layout::indented ? indented(text) : text;
  };
  const std::string& id = message.info.id;
  for (const NewRecord& part : message.parts) {
    RETURN_IF_ERROR(
        write({"part", id}, file_of_id(part.id), object(part, R"(,"messageID":)" + json::stringify_string(id))));
  }
  return write({"message", session}, file_of_id(id), object(message.info, ""));
}

bool FileBatch::is_in_use(const Dir& folder, const Made& project) const {
  const auto file = File::open_in(folder, project.name);
  const auto text = file ? file->read(0, kLongestProject) : Result<std::string>(file.error());
  const auto sessions = Dir::open_root(storage_ + "/session/" + std::string(kGlobal));
  const auto ids = all_ids_in(sessions);
  return !text || *text != project.text || !ids || !ids->empty();
}

/// False if the file may still be there.
bool FileBatch::remove(const Made& made) {
  auto folder = Dir::open_root(storage_);
  std::optional<Dir> above;
  for (const std::string& part : made.folders) {
    if (folder) {
      above.emplace(*std::move(folder));
      folder = above->open_in(part);
    }
  }
  if (!folder) {
    return folder.error().code == Errc::not_found;
  }
  if (made.folders.front() == kProjects && is_in_use(*folder, made)) {
    return true;
  }
  const auto removed = disk_.remove(*folder, made.name);
  static_cast<void>(disk_.remove_folder(*above, made.folders.back()));  // stays if it has other files
  return removed || removed.error().code == Errc::not_found;
}

}  // namespace arborfs::opencode
