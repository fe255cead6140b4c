#include "core/formats/claude/fork_files.h"

#include <dirent.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "core/formats/claude/format.h"
#include "core/json/json_cursor.h"
#include "core/os/file.h"
#include "core/os/file_tree.h"

namespace arborfs::claude {
namespace {

constexpr const char* kAgents = "subagents";
constexpr const char* kWorkflows = "workflows";
constexpr const char* kResults = "tool-results";
constexpr std::string_view kRows = ".jsonl";
constexpr std::string_view kAbout = ".meta.json";
constexpr std::uint64_t kMostOfAgent = std::uint64_t{64} << 20U;  // of a sub-agent's transcript
constexpr mode_t kFolderMode = 0700;

/// Calls open(in, name) for each of the folders, the last of which it returns.
template <class Open>
Result<Dir> go_down(const Dir& beside, const PathBeside& folders, const Open& open) {
  Result<Dir> at = open(beside, folders.front());
  for (std::size_t i = 1; at && i < folders.size(); ++i) {
    at = open(*at, folders[i]);
  }
  return at;
}

Result<Dir> open_path(const Dir& beside, const PathBeside& folders) {
  return go_down(beside, folders, [](const Dir& in, const std::string& name) { return in.open_in(name); });
}

Result<Dir> make_path(Disk& disk, const Dir& beside, const PathBeside& folders) {
  return go_down(beside, folders, [&](const Dir& in, const std::string& name) -> Result<Dir> {
    if (!in.stat(name)) {
      RETURN_IF_ERROR(disk.make_folder(in, name, kFolderMode));
      RETURN_IF_ERROR(disk.sync_folder(in));
    }
    return in.open_in(name);
  });
}

class NamedFiles {
 public:
  NamedFiles(const Dir& beside, std::string_view rows) : beside_(beside), texts_{std::string(rows)} {}

  Result<std::vector<PathBeside>> find() {
    for (std::size_t known = 0; known != texts_.size();) {  // a sub-agent may start others
      known = texts_.size();
      RETURN_IF_ERROR(find_in({kAgents}, [this](const Dir& dir, const std::string& name) {
        return name.ends_with(kRows) && name.starts_with(kAgentPrefix) ? take_agent(dir, name) : Result<void>();
      }));
    }
    RETURN_IF_ERROR(find_in({kAgents, kWorkflows}, [this](const Dir&, const std::string& name) -> Result<void> {
      if (is_named(name)) {
        found_.insert({kAgents, kWorkflows, name});
      }
      return {};
    }));
    RETURN_IF_ERROR(find_in({kResults}, [this](const Dir&, const std::string& name) -> Result<void> {
      if (is_named(std::string(kResults) + "/" + name)) {
        found_.insert({kResults, name});
      }
      return {};
    }));
    return std::vector<PathBeside>(found_.begin(), found_.end());
  }

 private:
  /// A folder that is not there has nothing in it.
  template <class Take>
  Result<void> find_in(const PathBeside& folders, const Take& take) {
    const auto dir = open_path(beside_, folders);
    if (!dir) {
      return dir.error().code == Errc::not_found ? Result<void>() : Result<void>(dir.error());
    }
    ASSIGN_OR_RETURN(const auto entries, dir->list());
    for (const DirEntry& entry : entries) {
      RETURN_IF_ERROR(take(*dir, entry.name));
    }
    return {};
  }

  /// The rows have its id, or the call that its description names.
  Result<void> take_agent(const Dir& dir, const std::string& file) {
    const std::string stem = file.substr(0, file.size() - kRows.size());
    const std::string description = stem + std::string(kAbout);
    const auto described = File::open_in(dir, description);
    const auto text = described ? described->read(0, kMostOfAgent) : Result<std::string>(described.error());
    const std::string call = text ? skim::text_member(*text, "toolUseId") : "";
    const bool is_ours = is_named(stem.substr(kAgentPrefix.size())) || (!call.empty() && is_named(call));
    if (!is_ours || !found_.insert({kAgents, file}).second) {
      return {};
    }
    if (text) {
      found_.insert({kAgents, description});
    }
    ASSIGN_OR_RETURN(const auto transcript, File::open_in(dir, file));
    ASSIGN_OR_RETURN(auto rows, transcript.read(0, kMostOfAgent));
    texts_.push_back(std::move(rows));
    return {};
  }

  [[nodiscard]] bool is_named(const std::string& word) const {
    return std::any_of(texts_.begin(), texts_.end(),
                       [&](const std::string& text) { return text.find(word) != std::string::npos; });
  }

  const Dir& beside_;
  std::vector<std::string> texts_;  // of the rows, and of the sub-agents that are found
  std::set<PathBeside> found_;
};

}  // namespace

Result<std::vector<PathBeside>> named_beside(const Dir& beside, std::string_view rows) {
  return NamedFiles(beside, rows).find();
}

Result<void> copy_beside(Disk& disk, const Dir& beside, const std::vector<PathBeside>& paths, const Dir& to) {
  for (const PathBeside& path : paths) {
    const PathBeside folders(path.begin(), path.end() - 1);
    ASSIGN_OR_RETURN(const auto from, open_path(beside, folders));
    ASSIGN_OR_RETURN(const auto into, make_path(disk, to, folders));
    RETURN_IF_ERROR(copy_tree(disk, from, path.back(), into, path.back()));
    RETURN_IF_ERROR(disk.sync_folder(into));
  }
  return {};
}

}  // namespace arborfs::claude
