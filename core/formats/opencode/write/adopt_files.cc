#include "core/formats/opencode/write/adopt_files.h"

#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result_macros.h"
#include "core/formats/opencode/json_texts.h"
#include "core/formats/opencode/write/fork_note.h"
#include "core/formats/opencode/write/storage_folder.h"
#include "core/json/document.h"
#include "core/os/temp_file.h"
#include "core/writer/new_file.h"

namespace arborfs::opencode {
namespace {

constexpr std::string_view kGlobal = "global";
constexpr std::string_view kProjects = "project";
constexpr std::size_t kLongestProject = 1 << 20;

std::string string_json(std::string_view text) {
  return json::stringify_string(text);
}

/// Files that are written one after the other, and removed together if one of them fails. A project stays if another
/// program has changed it or has added a session to it.
class FileBatch {
 public:
  /// `permissions`: those that the files may have.
  FileBatch(Disk& disk, const std::string& storage, mode_t permissions, bool sync)
      : disk_(disk), storage_(storage), permissions_(permissions), sync_(sync) {}
  ~FileBatch() {
    for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
      remove(*made);
    }
  }
  FileBatch(const FileBatch&) = delete;
  FileBatch& operator=(const FileBatch&) = delete;

  /// `folders` are below the storage.
  Result<void> write(const std::vector<std::string>& folders, const std::string& name, std::string_view text) {
    ASSIGN_OR_RETURN(const auto folder, make_folders(disk_, storage_, folders, kFolderMode, sync_));
    auto written = write_whole_file(disk_, folder, name, kFileMode & permissions_, text, Disk::Existing::keep, sync_);
    if (written || written.error().code != Errc::already_exists) {
      made_.push_back({folders, name, std::string(text)});
    }
    return written;
  }
  void keep() { made_.clear(); }

 private:
  struct Made {
    std::vector<std::string> folders;
    std::string name;
    std::string text;
    [[nodiscard]] bool is_project() const { return folders.front() == kProjects; }
  };
  [[nodiscard]] bool is_in_use(const Dir& folder, const Made& project) const {
    const auto file = File::open_in(folder, project.name);
    const auto text = file ? file->read(0, kLongestProject) : Result<std::string>(file.error());
    const auto sessions = Dir::open_root(storage_ + "/session/" + std::string(kGlobal));
    const auto ids = all_ids_in(sessions);
    return !text || *text != project.text || !ids || !ids->empty();
  }
  void remove(const Made& made) {
    auto folder = Dir::open_root(storage_);
    std::vector<Dir> above;
    for (const std::string& part : made.folders) {
      if (!folder) {
        return;
      }
      above.push_back(*std::move(folder));
      folder = above.back().open_in(part);
    }
    if (folder && !(made.is_project() && is_in_use(*folder, made))) {
      static_cast<void>(disk_.remove(*folder, made.name));
      static_cast<void>(disk_.remove_folder(above.back(), made.folders.back()));  // stays if it has other files
    }
  }

  Disk& disk_;
  const std::string& storage_;
  const mode_t permissions_;
  const bool sync_;
  std::vector<Made> made_;
};

bool is_at_or_below(std::string_view path, std::string_view folder) {
  return path == folder || (path.starts_with(folder) && path.substr(folder.size()).starts_with('/'));
}

/// The project with the longest folder above a working directory, else `global` (opencode/FORMAT.md G5).
std::string project_in(const std::string& storage, const std::string& cwd) {
  std::string found(kGlobal);
  std::size_t longest = 0;
  const auto folder = Dir::open_below_root(storage, std::string(kProjects));
  const auto entries = folder ? folder->list() : Result<std::vector<DirEntry>>(folder.error());
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    const auto file = File::open_in(*folder, entry.name);
    const auto text = file ? file->read(0, kLongestProject) : Result<std::string>(file.error());
    json::Document project;
    if (!text || !json::parse(*text, project)) {
      continue;
    }
    const auto id = json::string_member(project, "id");
    const auto worktree = json::string_member(project, "worktree");
    if (id && worktree && is_plain_name(*id) && worktree->size() > longest && is_at_or_below(cwd, *worktree)) {
      found = *id;
      longest = worktree->size();
    }
  }
  return found;
}

std::string time_json(std::int64_t created_ms) {
  return R"({"created":)" + std::to_string(created_ms) + R"(,"updated":)" + std::to_string(created_ms) + "}";
}

Result<void> write_global_project(FileBatch& files, const std::string& storage, std::int64_t created_ms) {
  const auto folder = Dir::open_below_root(storage, std::string(kProjects));
  if (folder && folder->stat("global.json")) {
    return {};
  }
  auto written = files.write({std::string(kProjects)}, "global.json",
                             R"({"id":"global","worktree":"/","sandboxes":[],"time":)" + time_json(created_ms) + "}");
  const bool is_there = !written && written.error().code == Errc::already_exists;  // OpenCode created it meanwhile
  return is_there ? Result<void>() : written;
}

std::string session_json_of(const AdoptedSession& session, const std::string& project, const std::string& cwd) {
  return R"({"id":)" + string_json(session.id) + R"(,"slug":)" + string_json(session.slug) + R"(,"version":)" +
         string_json(kUnknownVersion) + R"(,"projectID":)" + string_json(project) + R"(,"directory":)" +
         string_json(cwd) + R"(,"title":)" + string_json(session.title) + R"(,"time":)" +
         time_json(session.created_ms) + "}";
}

Result<void> write_messages(FileBatch& files, const AdoptedSession& session) {
  for (const AdoptedMessage& message : session.messages) {
    const std::string& id = message.info.id;
    for (const AdoptedObject& part : message.parts) {
      RETURN_IF_ERROR(files.write({"part", id}, part.id + ".json",
                                  R"({"id":)" + string_json(part.id) + R"(,"sessionID":)" + string_json(session.id) +
                                      R"(,"messageID":)" + string_json(id) + "," + part.members + "}"));
    }
    RETURN_IF_ERROR(files.write({"message", session.id}, id + ".json",
                                R"({"id":)" + string_json(id) + R"(,"sessionID":)" + string_json(session.id) + "," +
                                    message.info.members + "}"));
  }
  return {};
}

}  // namespace

Result<AdoptedPlace> adopt_in_files(Disk& disk, const std::string& storage, const Conversation& conversation, bool sync,
                                    AsText& counts) {
  const AdoptedSession session = adopted_session(conversation, counts);
  const std::string project = project_in(storage, conversation.cwd);
  ASSIGN_OR_RETURN(const auto note, ForkNote::make(disk, storage, session, sync));
  FileBatch files(disk, storage, conversation.permissions, sync);
  RETURN_IF_ERROR(project == kGlobal ? write_global_project(files, storage, session.created_ms) : Result<void>());
  RETURN_IF_ERROR(write_messages(files, session));
  RETURN_IF_ERROR(
      files.write({"session", project}, session.id + ".json", session_json_of(session, project, conversation.cwd)));
  files.keep();
  return AdoptedPlace{project, session.id};
}

}  // namespace arborfs::opencode
