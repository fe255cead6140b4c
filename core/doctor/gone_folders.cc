#include "core/doctor/gone_folders.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/os/environment.h"
#include "core/os/submounts.h"
#include "core/views/session_work.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;

constexpr int kLevels = 4;  // that are looked at
constexpr std::size_t kMostFolders = 50'000;
constexpr std::size_t kReadSessions = 3;  // of each folder that is gone
constexpr std::size_t kFewestFiles = 3;
constexpr std::size_t kMostFiles = 50;
constexpr std::size_t kMostSiblings = 500;

bool is_folder(const std::string& path) {
  std::error_code failed;
  return fs::is_directory(path, failed);
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// The path and the folders above it, the highest first, without the root.
std::vector<std::string> with_those_above(const std::string& path) {
  std::vector<std::string> all;
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    all.push_back(path.substr(0, slash));
  }
  all.push_back(path);
  return all;
}

/// Folders by their names, of the names that are wanted.
class Namesakes {
 public:
  explicit Namesakes(std::set<std::string> names) : names_(std::move(names)) {}

  void add(const std::string& folder) {
    if (names_.contains(name_of(folder)) && is_folder(folder)) {
      found_[name_of(folder)].insert(folder);
    }
  }
  void add_below(const std::string& folder, int levels) {
    std::error_code failed;
    for (fs::directory_iterator at(folder, fs::directory_options::skip_permission_denied, failed);
         !failed && at != fs::directory_iterator(); at.increment(failed)) {
      const std::string path = at->path().string();
      std::error_code unknown;
      if (name_of(path).starts_with('.') || elsewhere_.contains(path) ||
          at->symlink_status(unknown).type() != fs::file_type::directory || !seen_.insert(path).second ||
          seen_.size() > kMostFolders) {
        continue;
      }
      add(path);
      if (levels > 1) {
        add_below(path, levels - 1);
      }
    }
  }
  [[nodiscard]] const std::set<std::string>& of(const std::string& folder) const {
    static const std::set<std::string> none;
    const auto named = found_.find(name_of(folder));
    return named == found_.end() ? none : named->second;
  }

 private:
  const std::set<std::string> names_;
  const std::set<std::string> elsewhere_ = mounts_served_elsewhere();  // which may hang
  std::map<std::string, std::set<std::string>> found_;
  std::set<std::string> seen_;
};

/// Working directories, and the sessions that were started in each.
using StartedIn = std::map<std::string, std::vector<SessionPtr>>;

Namesakes namesakes_of(const StartedIn& gone, const StartedIn& there, const std::string& home) {
  std::set<std::string> names;
  std::set<std::string> nearest;
  for (const auto& [cwd, sessions] : gone) {
    std::string above = "/";
    for (const std::string& path : with_those_above(cwd)) {
      if (is_folder(path)) {
        above = path;
      } else {
        names.insert(name_of(path));
      }
    }
    nearest.insert(above);
  }
  Namesakes namesakes(std::move(names));
  for (const auto& [cwd, sessions] : there) {
    for (const std::string& path : with_those_above(cwd)) {
      namesakes.add(path);
    }
  }
  nearest.erase("/");  // which holds what is no folder of the user
  for (const std::string& folder : nearest) {
    namesakes.add_below(folder, kLevels);
  }
  namesakes.add_below(home, kLevels);
  return namesakes;
}

/// The highest folder above a working directory that is gone and has namesakes with the rest below them.
std::pair<std::string, std::vector<std::string>> find_gone(const std::string& cwd, const Namesakes& namesakes) {
  for (const std::string& path : with_those_above(cwd)) {
    std::vector<std::string> fits;
    for (const std::string& other : is_folder(path) ? std::set<std::string>() : namesakes.of(path)) {
      if (is_folder(other + cwd.substr(path.size()))) {
        fits.push_back(other);
      }
    }
    if (!fits.empty()) {
      return {path, std::move(fits)};
    }
  }
  return {};
}

/// The highest folder above a working directory, or itself, that is gone.
std::string highest_gone(const std::string& cwd) {
  const auto all = with_those_above(cwd);
  const auto gone = std::find_if_not(all.begin(), all.end(), is_folder);
  return gone == all.end() ? cwd : *gone;  // it may be back
}

/// The files below a folder that these sessions read or wrote, by their paths in it.
std::set<std::string> files_below(const std::string& folder, std::vector<SessionPtr> sessions) {
  std::sort(sessions.begin(), sessions.end(), [](const SessionPtr& one, const SessionPtr& other) {
    return one->stat().mtime_ns > other->stat().mtime_ns;
  });
  sessions.resize(std::min(sessions.size(), kReadSessions));
  std::set<std::string> files;
  for (const SessionPtr& session : sessions) {
    const auto work = session->refresh(Depth::index) ? session_work(*session) : Result<SessionWork>(SessionWork());
    for (const FileWork& file : work ? work->files : std::vector<FileWork>()) {
      if (files.size() < kMostFiles && file.path.starts_with(folder + "/")) {
        files.insert(file.path.substr(folder.size()));
      }
    }
  }
  return files;
}

/// The folders that have the most of the files, if these are enough to tell.
std::vector<std::string> folders_with(const std::set<std::string>& files, const std::set<std::string>& folders) {
  std::vector<std::string> best;
  std::size_t most = std::max(kFewestFiles, files.size() / 2 + 1);
  for (const std::string& folder : files.size() < kFewestFiles ? std::set<std::string>() : folders) {
    const auto count = static_cast<std::size_t>(std::count_if(files.begin(), files.end(), [&](const auto& file) {
      std::error_code failed;
      return fs::exists(folder + file, failed);
    }));
    if (count > most) {
      best.clear();
      most = count;
    }
    if (count == most) {
      best.push_back(folder);
    }
  }
  return best;
}

std::set<std::string> folders_in(const std::string& above) {
  const auto elsewhere = mounts_served_elsewhere();
  std::set<std::string> folders;
  std::error_code failed;
  for (fs::directory_iterator at(above, fs::directory_options::skip_permission_denied, failed);
       !failed && at != fs::directory_iterator() && folders.size() < kMostSiblings; at.increment(failed)) {
    if (!elsewhere.contains(at->path().string()) && is_folder(at->path().string())) {
      folders.insert(at->path().string());
    }
  }
  return folders;
}

}  // namespace

std::vector<GoneFolder> find_gone_folders(const CatalogView& view, const std::string& home) {
  StartedIn gone;
  StartedIn there;
  for (const auto& [id, session] : view.by_id) {
    const Header& header = session->head().header;
    if (header.cwd.starts_with('/') && (session->format().is_writable() || header.started_by.empty())) {
      const std::string cwd = normal_path(header.cwd);
      (is_folder(cwd) ? there : gone)[cwd].push_back(session);
    }
  }
  std::map<std::string, GoneFolder> found;
  const Namesakes namesakes = gone.empty() ? Namesakes(std::set<std::string>()) : namesakes_of(gone, there, home);
  StartedIn unnamed;  // by the highest folder that is gone
  for (const auto& [cwd, sessions] : gone) {
    auto [path, others] = find_gone(cwd, namesakes);
    if (others.empty()) {
      auto& all = unnamed[highest_gone(cwd)];
      all.insert(all.end(), sessions.begin(), sessions.end());
    } else {
      GoneFolder& folder = found[path];
      folder.path = path;
      folder.sessions += sessions.size();
      folder.places = std::move(others);
    }
  }
  std::map<std::string, std::set<std::string>> beside;  // where those of a folder above may be
  for (const auto& [path, sessions] : unnamed) {
    if (const auto named = found.find(path); named != found.end()) {
      named->second.sessions += sessions.size();
      continue;
    }
    const std::string above = path.substr(0, path.rfind('/'));
    const auto [folders, is_new] = beside.try_emplace(above);
    if (is_new) {
      folders->second = folders_in(above);
      for (const auto& [cwd, others] : there) {
        folders->second.insert(cwd);
      }
    }
    auto places = folders_with(files_below(path, sessions), folders->second);
    if (!places.empty()) {
      found[path] = {path, sessions.size(), std::move(places)};
    }
  }
  std::vector<GoneFolder> all;
  for (auto& [path, folder] : found) {
    all.push_back(std::move(folder));
  }
  return all;
}

}  // namespace arborfs
