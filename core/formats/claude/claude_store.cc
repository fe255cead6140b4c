#include "core/formats/claude/claude_store.h"

#include <dirent.h>

#include <algorithm>
#include <string_view>

#include "core/base/result_macros.h"
#include "core/formats/claude/running_sessions.h"
#include "core/log/log_file.h"
#include "core/os/leftover_files.h"
#include "core/store/log_listing.h"
#include "core/store/stored_files.h"

namespace arborfs::claude {
namespace {

constexpr std::string_view kSuffix = ".jsonl";
constexpr std::string_view kOrphaned = "orphaned-";
constexpr std::string_view kSubAgents = "subagents";
constexpr std::string_view kDescription = ".meta.json";  // of a sub-agent, next to its transcript

bool is_transcript_name(std::string_view name) {
  return name.size() > kSuffix.size() && name.front() != '.' && name.ends_with(kSuffix) && !name.starts_with(kOrphaned);
}

Result<Dir> no_folder() {
  return Result<Dir>(Errc::not_found, "no sessions folder");
}

/// Opens `<project>` or `<project>/<session>/subagents`.
Result<Dir> open_folder(const std::string& root, std::string_view folder) {
  const std::size_t slash = folder.find('/');
  ASSIGN_OR_RETURN(auto project, Dir::open_below_root(root, std::string(folder.substr(0, slash))));
  if (slash == std::string_view::npos) {
    return project;
  }
  const std::string_view rest = folder.substr(slash + 1);
  const std::size_t second = rest.find('/');
  if (second == std::string_view::npos || rest.substr(second + 1) != kSubAgents) {
    return no_folder();
  }
  ASSIGN_OR_RETURN(const auto session, project.open_in(std::string(rest.substr(0, second))));
  return session.open_in(std::string(kSubAgents));
}

/// Appends the project's own folder and those of its sessions' sub-agents. A project that cannot be read has none of
/// the latter.
void add_folders(const Dir& root, const std::string& project, std::vector<std::string>& folders) {
  folders.push_back(project);
  const auto dir = root.open_in(project);
  const auto entries = dir ? dir->list() : Result<std::vector<DirEntry>>(dir.error());
  if (!entries) {
    return;
  }
  for (const DirEntry& entry : *entries) {
    const auto session = entry.type == DT_DIR ? dir->open_in(entry.name) : no_folder();
    if (session && session->open_in(std::string(kSubAgents))) {
      folders.push_back(project + '/' + entry.name + '/' + std::string(kSubAgents));
    }
  }
}

}  // namespace

bool Store::is_log_name(std::string_view file) const {
  return is_transcript_name(file);
}

bool Store::present() const {
  return Dir::open_root(paths().sessions).has_value();
}

Result<std::vector<std::string>> Store::folders() const {
  ASSIGN_OR_RETURN(const auto root, Dir::open_root(paths().sessions));
  ASSIGN_OR_RETURN(const auto entries, root.list());
  std::vector<std::string> folders;
  for (const DirEntry& entry : entries) {
    if (entry.type == DT_DIR) {
      add_folders(root, entry.name, folders);
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

Result<std::vector<FoundLog>> Store::logs(const std::string& folder, const HeadWanted& wants_head) const {
  ASSIGN_OR_RETURN(const auto dir, open_folder(paths().sessions, folder));
  return list_logs(dir, folder, format(), is_transcript_name, wants_head);
}

Result<FileStat> Store::stat(const LogPlace& place) const {
  ASSIGN_OR_RETURN(const auto dir, folder(place));
  return stat_log(dir, place.file);
}

Result<std::shared_ptr<const LogSource>> Store::open(const LogPlace& place) const {
  ASSIGN_OR_RETURN(const auto dir, folder(place));
  auto reopen = [root = paths().sessions, place]() -> Result<File> {
    ASSIGN_OR_RETURN(const auto again, open_folder(root, place.folder));
    return File::open_in(again, place.file);
  };
  return LogFile::open(dir, place.file, std::move(reopen), place.folder);
}

Result<Dir> Store::folder(const LogPlace& place) const {
  return open_folder(paths().sessions, place.folder);
}

Result<std::unique_ptr<const ShownFiles>> Store::native_files(const LogPlace& place) const {
  ASSIGN_OR_RETURN(auto dir, folder(place));
  const std::string stem(place.stem());
  const bool is_sub_agent = place.folder.find('/') != std::string::npos;
  return std::unique_ptr<const ShownFiles>(std::make_unique<const StoredFiles>(
      std::move(dir), std::vector{place.file, is_sub_agent ? stem + std::string(kDescription) : stem}));
}

/// This works even without a program called claude: the files name the process.
std::unique_ptr<const LiveSigns> Store::live_signs(bool /*is_running*/) const {
  return std::make_unique<const RunningSessions>(paths().agent_dir);
}

std::vector<FileFinding> Store::faults() const {
  std::vector<FileFinding> found;
  const auto names = folders();
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    const auto dir = open_folder(paths().sessions, name);
    for (const std::string& file : dir ? leftover_files(*dir) : std::vector<std::string>()) {
      found.push_back({paths().sessions + "/" + name + "/" + file,
                       {"leftover_temporary", "the temporary file of an unfinished fork by arborfs"}});
    }
  }
  return found;
}

}  // namespace arborfs::claude
