#include "core/formats/claude/belongings.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/formats/claude/format.h"
#include "core/json/json_cursor.h"
#include "core/os/file.h"

namespace arborfs::claude {
namespace {

using Items = std::vector<Belonging>;

constexpr const char* kProjects = "projects";
constexpr const char* kTodos = "todos";
constexpr std::size_t kFirstRow = 64 * 1024;

bool is_missing(const Error& error) {
  return error.code == Errc::not_found;
}

/// The names in a folder that `is_wanted` accepts; none if there is no such folder. Links are not followed: what they
/// lead to may belong to others.
template <class IsWanted>
Result<std::vector<std::string>> names_in(const Result<Dir>& folder, const IsWanted& is_wanted) {
  std::vector<std::string> names;
  if (!folder) {
    return names;
  }
  ASSIGN_OR_RETURN(const auto entries, folder->list());
  for (const DirEntry& entry : entries) {
    if (is_wanted(entry.name)) {
      names.push_back(entry.name);
    }
  }
  return names;
}

/// The session that the first row of a transcript names.
std::string session_in(const Dir& folder, const std::string& name) {
  const auto file = File::open_in(folder, name);
  const auto text = file ? file->read(0, kFirstRow) : Result<std::string>(file.error());
  return text ? skim::text_member(std::string_view(*text).substr(0, text->find('\n')), "sessionId") : "";
}

class SessionFiles final : public Belongings {
 public:
  SessionFiles(const arborfs::Store& store, const LogPlace& place)
      : store_(store),
        project_(std::string(kProjects) + "/" + place.folder),
        project_name_(place.folder),
        log_(place.file),
        session_(place.stem()) {}

  [[nodiscard]] std::string root_path() const override { return store_.paths().agent_dir; }

  /// Those in the folder of the project, as if that were the root.
  Result<Items> in_project(const Dir& root) {
    Items items;
    RETURN_IF_ERROR(add_project_files(root, items));
    for (Belonging& item : items) {
      item.folder.clear();
    }
    return items;
  }

  /// The transcript is last: the program lists a session whose transcript is there.
  Result<Items> in_store(const Dir& root) override {
    Items items;
    RETURN_IF_ERROR(add_side_data(root, items));
    RETURN_IF_ERROR(add_project_files(root, items));
    return items;
  }

 private:
  Result<void> add_side_data(const Dir& root, Items& items) const {
    for (const char* const kind : {"session-env", "tasks", "image-cache", "file-history"}) {
      add_if_there(root.open_in(kind), kind, session_, items);
    }
    add_if_there(root.open_in("debug"), "debug", session_ + ".txt", items);
    ASSIGN_OR_RETURN(const auto todos, names_in(root.open_in(kTodos), [this](std::string_view name) {
                       return name.starts_with(session_ + "-agent-") && name.ends_with(".json");
                     }));
    for (const std::string& name : todos) {
      items.push_back({kTodos, name});
    }
    return {};
  }

  static void add_if_there(const Result<Dir>& folder, const std::string& path, const std::string& name, Items& items) {
    if (folder && folder->stat(name)) {
      items.push_back({path, name});
    }
  }

  Result<void> add_project_files(const Dir& root, Items& items) const {
    const auto projects = root.open_in(kProjects);
    const auto project = projects ? projects->open_in(project_name_) : Result<Dir>(projects.error());
    if (!project) {
      return is_missing(project.error()) ? Result<void>() : through_a_link(project.error());
    }
    add_if_there(project, project_, session_, items);
    ASSIGN_OR_RETURN(const auto agents, names_in(project, [&](const std::string& name) {
                       return name.starts_with(kAgentPrefix) && store_.is_log_name(name) &&
                              session_in(*project, name) == session_;
                     }));
    for (const std::string& name : agents) {
      items.push_back({project_, name});
    }
    const auto log = project->stat(log_);
    if (log) {
      items.push_back({project_, log_, Belonging::Role::own});
    }
    return log || is_missing(log.error()) ? Result<void>() : Result<void>(log.error());
  }

  /// The session may be outside of the folder that the trash knows.
  static Error through_a_link(const Error& why) {
    return {why.code, why.message + "; sessions are moved only if no symbolic link leads to their project"};
  }

  const arborfs::Store& store_;
  const std::string project_;  // its path below the root
  const std::string project_name_;
  const std::string log_;
  const std::string session_;
};

}  // namespace

Result<std::vector<Belonging>> project_files_of(const arborfs::Store& store, const LogPlace& place) {
  ASSIGN_OR_RETURN(const auto root, Dir::open_root(store.paths().agent_dir));
  return SessionFiles(store, place).in_project(root);
}

std::unique_ptr<Belongings> belongings_of(const arborfs::Store& store, const LogPlace& place) {
  const std::string stem(place.stem());
  const bool fits = is_plain_name(place.folder) && !place.folder.starts_with('.') && is_plain_name(place.file) &&
                    store.is_log_name(place.file) && is_plain_name(stem) && stem != kMemory &&
                    !stem.starts_with(kAgentPrefix);
  return fits ? std::make_unique<SessionFiles>(store, place) : nullptr;
}

}  // namespace arborfs::claude
