#include "core/formats/opencode/json_faults.h"

#include <dirent.h>
#include <sys/file.h>

#include <optional>

#include "core/base/number_format.h"
#include "core/formats/opencode/json_files.h"
#include "core/formats/opencode/json_texts.h"
#include "core/json/document.h"
#include "core/os/leftover_files.h"

namespace arborfs::opencode {
namespace {

constexpr std::string_view kNoteBefore = ".arborfs-";
constexpr std::string_view kNoteAfter = ".fork";

Result<Dir> open_in(const std::string& storage, const std::string& kind, const std::string& name) {
  const auto dir = Dir::follow_below_root(storage, kind);
  return dir ? dir->follow(name) : Result<Dir>(dir.error());
}

/// Why the file is not a JSON object; nothing if it is one.
std::optional<std::string> fault_of(const Dir& dir, const std::string& id) {
  const auto file = File::follow_in(dir, file_of_id(id));
  if (!file) {
    return "cannot be read: " + file.error().message;
  }
  const std::string text = text_in(dir, id);
  json::Document document;
  if (json::parse(text, document) && document.IsObject()) {
    return std::nullopt;
  }
  return text.empty() ? "is empty" : "is not a JSON object (" + counted(text.size(), "byte") + ")";
}

class SessionFaults {
 public:
  SessionFaults(const std::string& storage, const SessionName& session) : storage_(storage) {
    if (const auto folder = open_in(storage, "session", session.folder)) {
      look_at(*folder, "session/" + session.folder, session.id);
    }
    const auto messages = open_in(storage, "message", session.id);
    for (const std::string& id : ids_in(messages)) {
      look_at_message(*messages, "message/" + session.id, id);
    }
  }
  [[nodiscard]] std::vector<Finding> take() && { return std::move(found_); }

 private:
  /// False if it is not a JSON object.
  bool look_at(const Dir& dir, const std::string& place, const std::string& id) {
    const auto fault = fault_of(dir, id);
    if (fault) {
      found_.push_back({"malformed_file", "the file " + place + "/" + file_of_id(id) + " " + *fault});
    }
    return !fault;
  }

  void look_at_message(const Dir& messages, const std::string& place, const std::string& id) {
    const bool is_whole = look_at(messages, place, id);
    const auto parts = open_in(storage_, "part", id);
    const auto ids = ids_in(parts);
    for (const std::string& part : ids) {
      look_at(*parts, "part/" + id, part);
    }
    json::Document message;
    if (is_whole && ids.empty() && json::parse(text_in(messages, id), message) &&
        json::is_string(json::member(message, "role"), "user")) {
      found_.push_back({"missing_parts", "the prompt " + id + " has no parts, so its text is unknown"});
    }
  }

  const std::string& storage_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> faults_of_files(const std::string& storage, const SessionName& session) {
  return SessionFaults(storage, session).take();
}

std::vector<FileFinding> faults_of_projects(const std::string& storage) {
  std::vector<FileFinding> found;
  const auto projects = Dir::follow_below_root(storage, "project");
  for (const std::string& id : ids_in(projects)) {
    if (const auto fault = fault_of(*projects, id)) {
      found.push_back({storage + "/project/" + file_of_id(id), {"malformed_file", "the file of a project " + *fault}});
    }
  }
  return found;
}

bool is_draft_name(std::string_view name) {
  return name.starts_with('.') && name.ends_with(".json.tmp");
}

std::string fork_note_name(std::string_view session) {
  return std::string(kNoteBefore) + std::string(session) + std::string(kNoteAfter);
}

std::vector<std::string> killed_forks_in(const Dir& storage) {
  const auto entries = storage.list();
  std::vector<std::string> found;
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    const bool is_note =
        entry.type == DT_REG && entry.name.starts_with(kNoteBefore) && entry.name.ends_with(kNoteAfter);
    const auto note = is_note ? File::open_in(storage, entry.name) : Result<File>(Errc::not_found, "");
    if (note && ::flock(note->fd(), LOCK_EX | LOCK_NB) == 0) {
      found.push_back(entry.name);
    }
  }
  return found;
}

std::vector<FileFinding> leftovers_in(const std::string& storage) {
  std::vector<FileFinding> found;
  const auto look_in = [&](const Dir& folder, const std::string& path) {
    for (const std::string& name : leftover_files(folder, is_draft_name)) {
      Finding left{"leftover_temporary", "the temporary file of an unfinished write by arborfs"};
      left.leftover = path + "/" + name;
      found.push_back({left.leftover, left});
    }
  };
  const auto root = Dir::open_root(storage);
  for (const std::string& note : root ? killed_forks_in(*root) : std::vector<std::string>()) {
    found.push_back({storage + "/" + note, {"unfinished_fork", "the note of an unfinished fork by arborfs"}});
  }
  for (const std::string kind : {"project", "session", "message", "part", "session_diff"}) {
    const auto folder = Dir::open_below_root(storage, kind);
    const auto entries = folder ? folder->list() : Result<std::vector<DirEntry>>(folder.error());
    if (!entries) {
      continue;
    }
    look_in(*folder, storage + "/" + kind);
    for (const DirEntry& entry : *entries) {
      const auto below = entry.type == DT_DIR ? folder->open_in(entry.name) : Result<Dir>(Errc::not_found, "");
      if (below) {
        look_in(*below, storage + "/" + kind + "/" + entry.name);
      }
    }
  }
  return found;
}

}  // namespace arborfs::opencode
