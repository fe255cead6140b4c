#include "core/formats/omp/store/store.h"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include "core/base/error.h"
#include "core/base/words.h"
#include "core/formats/omp/store/agent_dir.h"
#include "core/formats/omp/store/format.h"
#include "core/formats/omp/store/history.h"
#include "core/formats/omp/store/log_change.h"
#include "core/formats/omp/store/log_files.h"
#include "core/store/log_listing.h"
#include "core/store/store_parts.h"

namespace arborfs::omp {

namespace {

constexpr std::string_view kLogSuffix = ".jsonl";
constexpr mode_t kFolderMode = 0777;
constexpr std::size_t kMaxBreadcrumb = 16 * 1024;

/// The session that a breadcrumb's path refers to. The agent wrote an absolute path, so only the part after its last
/// `/sessions/` counts: a store that was copied or restored elsewhere keeps its terminals. A path into an artifact
/// folder refers to its session.
LogPlace place_of(std::string_view path) {
  constexpr std::string_view kSessions = "/sessions/";
  const std::size_t root = path.rfind(kSessions);
  if (root == std::string_view::npos) {
    return {};
  }
  path.remove_prefix(root + kSessions.size());
  const std::size_t folder_end = path.find('/');
  if (folder_end == std::string_view::npos) {
    return {};
  }
  LogPlace place{std::string(path.substr(0, folder_end)), std::string(path.substr(folder_end + 1))};
  if (const std::size_t deeper = place.file.find('/'); deeper != std::string::npos) {
    place.file = place.file.substr(0, deeper) + std::string(kLogSuffix);
  }
  return is_plain_name(place.folder) && is_plain_name(place.file) && omp::is_log_name(place.file) ? place : LogPlace{};
}

/// True if the entries, in byte order, have a log whose artifacts are in the folder of this name.
bool has_log_of(const std::vector<DirEntry>& entries, const std::string& folder) {
  return std::binary_search(entries.begin(), entries.end(), DirEntry{folder + std::string(kLogSuffix)},
                            [](const DirEntry& a, const DirEntry& b) { return a.name < b.name; });
}

/// The logs below a folder of logs, at any depth, which neither agent lists: those among a session's artifacts
/// (omp/FORMAT.md F6). `place.file` is the folder that holds them in `dir`.
void add_logs_below(const Dir& dir, const LogPlace& place, std::string_view why, std::vector<FoundLog>& found) {
  constexpr std::size_t kMostFolders = 1000;
  std::vector<std::pair<Dir, std::string>> open;
  if (auto first = dir.open_in(place.file)) {
    open.emplace_back(*std::move(first), place.file);
  }
  for (std::size_t i = 0; !open.empty() && i < kMostFolders; ++i) {
    const auto [folder, path] = std::move(open.back());
    open.pop_back();
    const auto entries = folder.list();
    for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
      const std::string inner = path + "/" + entry.name;
      if (omp::is_log_name(entry.name)) {
        found.push_back({LogPlace{place.folder, inner}, {}, {}, false, std::string(why)});
      } else if (auto deeper = entry.type == DT_DIR ? folder.open_in(entry.name) : Result<Dir>(Errc::not_found, "")) {
        open.emplace_back(*std::move(deeper), inner);
      }
    }
  }
}

class Store final : public arborfs::Store,
                    public LogFiles,
                    public HasArtifacts,
                    public HasBreadcrumbs,
                    public HasLockFiles {
 public:
  Store(StorePaths paths, Disk& disk, const Format& format, LogLayout layout, LogOwner owner)
      : arborfs::Store(format, paths, disk, make_file_blobs(paths.blobs, disk),
                       &format == &omp::format() ? make_history(paths.sessions, disk) : nullptr),
        layout_(layout),
        owner_(owner) {}

  /// Logs of omp and of pi may be in one folder, whatever its name: their headers and entries distinguish them, unless
  /// the user has said whose they are.
  [[nodiscard]] const Format* owner_of(const Header& header) const override {
    return !header.valid || owner_ == LogOwner::named ? nullptr : header.of_other_agent ? &pi_format() : &omp::format();
  }

  [[nodiscard]] Result<std::vector<std::string>> folders() const override {
    ASSIGN_OR_RETURN(auto root, Dir::open_root(paths().sessions));
    std::vector<std::string> names;
    if (layout_ == LogLayout::flat) {
      names.emplace_back(kSessionsItself);
      return names;
    }
    ASSIGN_OR_RETURN(auto entries, root.list());
    for (auto& entry : entries) {
      const bool is_log_here = layout_ == LogLayout::both && omp::is_log_name(entry.name);
      if (entry.name.front() != '.' && !is_log_here && may_be_folder(root, entry)) {
        names.push_back(std::move(entry.name));
      }
    }
    if (layout_ == LogLayout::both) {
      names.emplace(std::lower_bound(names.begin(), names.end(), kSessionsItself), kSessionsItself);
    }
    return names;
  }

  /// If a sessions folder itself holds logs, the events of that folder of logs are enough for a new name in it.
  [[nodiscard]] bool may_have_logs(std::string_view folder) const override {
    if (folder == kSessionsItself) {
      return layout_ != LogLayout::in_folders;
    }
    return layout_ == LogLayout::in_folders || (layout_ == LogLayout::both && !omp::is_log_name(folder));
  }

  [[nodiscard]] bool is_log_name(std::string_view file) const override { return omp::is_log_name(file); }

  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                   const HeadWanted& wants_head) const override {
    ASSIGN_OR_RETURN(const auto dir, open_folder(folder));
    ASSIGN_OR_RETURN(const auto entries, dir.list());
    auto found = logs_among(entries, dir, folder, format(), omp::is_log_name, wants_head);
    for (const DirEntry& entry : entries) {
      if (entry.type != DT_DIR || omp::is_log_name(entry.name)) {
        continue;
      }
      if (has_log_of(entries, entry.name)) {
        add_logs_below(dir, LogPlace{folder, entry.name}, "a sub-agent's log in artifacts/ of its session", found);
      } else if (folder != kSessionsItself) {
        add_logs_below(dir, LogPlace{folder, entry.name}, "a log below a folder of logs, where no agent looks", found);
      }
    }
    return found;
  }

  [[nodiscard]] Result<Dir> folder(const LogPlace& place) const override { return open_folder(place.folder); }

  [[nodiscard]] Result<Dir> artifacts(const LogPlace& place) const override {
    ASSIGN_OR_RETURN(auto dir, open_folder(place.folder));
    return dir.open_in(place.file.substr(0, place.file.size() - kLogSuffix.size()));
  }

  [[nodiscard]] std::vector<Breadcrumb> breadcrumbs() const override {
    std::vector<Breadcrumb> found;
    auto dir = Dir::open_root(paths().terminals);
    if (!dir) {
      return found;
    }
    auto entries = dir->list();
    if (!entries) {
      return found;
    }
    for (const auto& entry : *entries) {
      if (entry.type == DT_REG && entry.name.front() != '.') {
        if (auto crumb = read_breadcrumb(*dir, entry.name)) {
          found.push_back(std::move(*crumb));
        }
      }
    }
    return found;
  }

  [[nodiscard]] std::string lock_file_name(const std::string& file) const override {
    return omp::lock_file_name(file);
  }
  [[nodiscard]] long lock_holder(const Dir& folder, const std::string& file) const override {
    return lock_file_pid(folder, file);
  }

  [[nodiscard]] Result<std::unique_ptr<LogWriter>> writer(const LogPlace& place) override {
    ASSIGN_OR_RETURN(auto dir, open_folder(place.folder));
    return open_log_writer(disk(), std::move(dir), folder_path(paths().sessions, place.folder), place.file);
  }

  [[nodiscard]] Result<std::unique_ptr<TempFile>> draft(const LogPlace& place, mode_t permissions) override {
    ASSIGN_OR_RETURN(auto dir, make_folder(place.folder));
    return start_draft(disk(), std::move(dir), place.file, permissions);
  }

  [[nodiscard]] Result<std::unique_ptr<TempFile>> redraft(const LogPlace& place, const LogPlace& to) override {
    ASSIGN_OR_RETURN(auto dir, open_folder(place.folder));
    ASSIGN_OR_RETURN(const auto replaced, File::open_in(dir, place.file));
    if (to.folder != place.folder) {
      ASSIGN_OR_RETURN(dir, make_folder(to.folder));
    }
    return start_redraft(disk(), std::move(dir), to.file, replaced);
  }

  Result<void> publish(TempFile& draft, const LogPlace& place, Disk::Existing existing, bool sync) override {
    return publish_draft(draft, place.file, existing, sync);
  }

  Result<void> move(const LogPlace& from, const LogPlace& to) override {
    ASSIGN_OR_RETURN(const auto source, open_folder(from.folder));
    ASSIGN_OR_RETURN(const auto target, make_folder(to.folder));
    return move_log(disk(), source, from.file, target, to.file);
  }

 private:
  /// The folder of a project; creates it, and the sessions folder, if missing.
  [[nodiscard]] Result<Dir> make_folder(const std::string& folder) {
    if (!has(folder)) {
      return Error{Errc::unsupported, "the store at " + paths().sessions + " has no folders for projects"};
    }
    if (auto there = open_folder(folder); there || there.error().code != Errc::not_found) {
      return there;
    }
    auto root = Dir::open_root(paths().sessions);
    if (!root && root.error().code == Errc::not_found) {
      const std::filesystem::path sessions = paths().sessions;
      ASSIGN_OR_RETURN(const auto above, Dir::open_root(sessions.parent_path().string()));
      RETURN_IF_ERROR(disk().make_folder(above, sessions.filename().string(), kFolderMode));
      RETURN_IF_ERROR(disk().sync_folder(above));
      root = Dir::open_root(paths().sessions);
    }
    if (!root || folder == kSessionsItself) {
      return root;
    }
    RETURN_IF_ERROR(disk().make_folder(*root, folder, kFolderMode));
    RETURN_IF_ERROR(disk().sync_folder(*root));
    return root->open_in(folder);
  }

  [[nodiscard]] Result<Dir> open_folder(const std::string& folder) const {
    if (!has(folder)) {
      return Error{Errc::not_found, "no sessions folder"};
    }
    return folder == kSessionsItself ? Dir::open_root(paths().sessions)
                                     : Dir::follow_below_root(paths().sessions, folder);
  }

  /// True if a folder of this name may contain logs.
  [[nodiscard]] bool has(const std::string& folder) const {
    return layout_ != (folder == kSessionsItself ? LogLayout::in_folders : LogLayout::flat);
  }

  [[nodiscard]] std::optional<Breadcrumb> read_breadcrumb(const Dir& dir, const std::string& name) const {
    auto file = File::open_in(dir, name);
    if (!file) {
      return std::nullopt;
    }
    std::array<char, kMaxBreadcrumb> buffer{};
    auto got = file->read_at(0, buffer);
    if (!got) {
      return std::nullopt;
    }
    std::string_view text(buffer.data(), *got);
    Breadcrumb crumb;
    crumb.terminal = name;
    crumb.cwd = take_line(text);
    crumb.log_path = take_line(text);
    crumb.place = place_of(crumb.log_path);
    return crumb;
  }

  const LogLayout layout_;
  const LogOwner owner_;
};

}  // namespace

bool is_log_name(std::string_view name) {
  return name.size() > kLogSuffix.size() && name.front() != '.' && name.ends_with(kLogSuffix);
}

std::shared_ptr<arborfs::Store> make_store(StorePaths paths, Disk& disk, const Format& format, LogLayout layout,
                                           LogOwner owner) {
  return std::make_shared<Store>(std::move(paths), disk, format, layout, owner);
}

std::shared_ptr<arborfs::Store> open_store(const std::string& agent_dir, Disk& disk) {
  return make_store(agent_dir.empty() ? own_paths() : agent_dir_paths(agent_dir), disk);
}

}  // namespace arborfs::omp
