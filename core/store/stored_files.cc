#include "core/store/stored_files.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/entry/names.h"

namespace arborfs {
namespace {

constexpr std::size_t kShortestCut = 240;  // of names that were cut between two characters to fit 255 bytes

Error no_such_file() {
  return {Errc::not_found, "the agent keeps no such file"};
}

bool is_shown_type(std::uint32_t mode) {
  return S_ISDIR(mode) || S_ISREG(mode);
}

std::string below(const std::string& folder, std::string_view name) {
  return (folder.empty() ? "" : folder + "/") + std::string(name);
}

/// Removes the first component of a path, and returns it.
std::string take_component(std::string_view& path) {
  const std::size_t end = std::min(path.find('/'), path.size());
  std::string name(path.substr(0, end));
  path.remove_prefix(std::min(end + 1, path.size()));
  return name;
}

bool is_in(const std::string& path, const std::string& folder) {
  return folder.empty() || (path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/');
}

}  // namespace

std::optional<std::string> name_on_disk(const Dir& dir, std::string_view shown) {
  if (auto name = names::decode_file(shown); name && is_plain_name(*name) && dir.stat(*name)) {
    return name;
  }
  if (shown.size() < kShortestCut) {
    return std::nullopt;
  }
  const auto found = dir.list();
  for (const auto& row : found ? *found : std::vector<DirEntry>()) {
    if (names::encode_file(row.name) == shown) {
      return row.name;
    }
  }
  return std::nullopt;
}

StoredFiles::StoredFiles(Dir root, std::vector<std::string> chosen)
    : root_(std::make_shared<const Dir>(std::move(root))), chosen_(std::move(chosen)) {
  std::erase_if(chosen_, [this](const std::string& path) { return !is_there(path); });
}

/// The place at a path of the disk.
Result<StoredFiles::Place> StoredFiles::at(std::string_view path) const {
  Place place{root_, "", std::string(path)};
  while (!path.empty()) {
    ASSIGN_OR_RETURN(place.parent, folder_at(place));
    place.name = take_component(path);
  }
  return place;
}

bool StoredFiles::is_there(const std::string& path) const {
  const auto place = at(path);
  return place && stat_at(*place);
}

std::vector<DirEntry> StoredFiles::entries_of(const std::string& folder) const {
  const auto place = at(folder);
  const auto dir = place ? folder_at(*place) : Result<DirPtr>(place.error());
  auto entries = dir ? (*dir)->list() : Result<std::vector<DirEntry>>(dir.error());
  return entries ? *std::move(entries) : std::vector<DirEntry>();
}

std::optional<std::vector<std::string>> StoredFiles::names_in(const std::string& folder) const {
  std::vector<std::string> names;
  for (const std::string& path : chosen_) {
    if (path == folder || is_in(folder, path)) {
      return std::nullopt;
    }
    if (is_in(path, folder)) {
      std::string_view rest = std::string_view(path).substr(folder.empty() ? 0 : folder.size() + 1);
      names.push_back(take_component(rest));
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool StoredFiles::shows(const std::string& folder, const std::string& name) const {
  const auto names = names_in(folder);
  return !names || std::binary_search(names->begin(), names->end(), name);
}

Result<FileStat> StoredFiles::stat_at(const Place& place) {
  ASSIGN_OR_RETURN(const auto st, place.name.empty() ? place.parent->stat() : place.parent->stat(place.name));
  return is_shown_type(st.mode) ? Result<FileStat>(st) : no_such_file();
}

Result<StoredFiles::DirPtr> StoredFiles::folder_at(const Place& place) {
  if (place.name.empty()) {
    return place.parent;
  }
  ASSIGN_OR_RETURN(auto folder, place.parent->open_in(place.name));
  return std::make_shared<const Dir>(std::move(folder));
}

Result<StoredFiles::Place> StoredFiles::place_of(const std::string& shown) const {
  Place place{root_, "", ""};
  for (std::string_view rest = shown; !rest.empty();) {
    ASSIGN_OR_RETURN(place.parent, folder_at(place));
    auto name = name_on_disk(*place.parent, take_component(rest));
    if (!name || !shows(place.path, *name)) {
      return no_such_file();
    }
    place.name = *std::move(name);
    place.path = below(place.path, place.name);
  }
  return place;
}

Result<ShownFiles::Stat> StoredFiles::stat(const std::string& path) const {
  ASSIGN_OR_RETURN(const auto place, place_of(path));
  ASSIGN_OR_RETURN(const auto st, stat_at(place));
  const bool is_folder = S_ISDIR(st.mode);
  return Stat{is_folder, is_folder ? 0 : st.size, st.mtime_ns};
}

Result<std::vector<ShownFiles::Item>> StoredFiles::list(const std::string& path) const {
  ASSIGN_OR_RETURN(const auto place, place_of(path));
  ASSIGN_OR_RETURN(const auto folder, folder_at(place));
  std::vector<Item> items;
  if (const auto names = names_in(place.path)) {
    for (const std::string& name : *names) {
      if (const auto st = stat_at({folder, name, ""})) {
        items.push_back({names::encode_file(name), S_ISDIR(st->mode)});
      }
    }
    return items;
  }
  ASSIGN_OR_RETURN(const auto rows, folder->list());
  for (const DirEntry& row : rows) {
    if (row.type == DT_DIR || row.type == DT_REG) {
      items.push_back({names::encode_file(row.name), row.type == DT_DIR});
    }
  }
  return items;
}

Result<ShownFiles::Content> StoredFiles::open(const std::string& path) const {
  ASSIGN_OR_RETURN(const auto place, place_of(path));
  ASSIGN_OR_RETURN(auto file, File::open_in(*place.parent, place.name));
  return Content(std::move(file));
}

}  // namespace arborfs
