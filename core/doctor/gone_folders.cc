#include "core/doctor/gone_folders.h"

#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/os/environment.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;

constexpr int kBelowHome = 4;  // levels that are looked at
constexpr int kBelowNearest = 2;
constexpr std::size_t kMostFolders = 50'000;

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
      if (name_of(path).starts_with('.') || at->symlink_status(unknown).type() != fs::file_type::directory ||
          !seen_.insert(path).second || seen_.size() > kMostFolders) {
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
  std::map<std::string, std::set<std::string>> found_;
  std::set<std::string> seen_;
};

/// Working directories and the number of sessions that were started in each.
using StartedIn = std::map<std::string, std::size_t>;

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
    namesakes.add_below(folder, kBelowNearest);
  }
  namesakes.add_below(home, kBelowHome);
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

}  // namespace

std::vector<GoneFolder> find_gone_folders(const CatalogView& view, const std::string& home) {
  StartedIn gone;
  StartedIn there;
  for (const auto& [id, session] : view.by_id) {
    const Header& header = session->head().header;
    if (header.cwd.starts_with('/') && (session->format().is_writable() || header.started_by.empty())) {
      const std::string cwd = normal_path(header.cwd);
      ++(is_folder(cwd) ? there : gone)[cwd];
    }
  }
  std::map<std::string, GoneFolder> found;
  const Namesakes namesakes = gone.empty() ? Namesakes(std::set<std::string>()) : namesakes_of(gone, there, home);
  for (const auto& [cwd, sessions] : gone) {
    auto [path, others] = find_gone(cwd, namesakes);
    if (!others.empty()) {
      GoneFolder& folder = found[path];
      folder.path = path;
      folder.sessions += sessions;
      folder.namesakes = std::move(others);
    }
  }
  std::vector<GoneFolder> all;
  for (auto& [path, folder] : found) {
    all.push_back(std::move(folder));
  }
  return all;
}

}  // namespace arborfs
