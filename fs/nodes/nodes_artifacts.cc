#include <dirent.h>
#include <sys/stat.h>

#include <array>
#include <utility>

#include "core/base/result_macros.h"
#include "core/render/names.h"
#include "core/store/store_parts.h"
#include "core/store/stored_files.h"
#include "fs/nodes/node_families.h"

namespace arborfs::artifact_nodes {

namespace {

/// A file or folder below artifacts/. Always opened from the top, one component after the other, never through a
/// symbolic link.
struct Place {
  SessionRef ref;
  std::string path;  // "" for artifacts/ itself
};

Result<Place> place_of(MountState& state, NodeId node) {
  ASSIGN_OR_RETURN(auto ref, session_of(state, node));
  if (node.item() == 0) {
    return Place{std::move(ref), ""};
  }
  auto path = state.artifact_paths.text_of(node.item());
  if (!path) {
    return stale_error();
  }
  return Place{std::move(ref), std::move(*path)};
}

Error gone_or(const Error& error) {
  return error.code == Errc::not_found ? stale_error() : error;
}

Result<Dir> open_folder(const Place& place, std::string_view path) {
  auto dir = artifacts_of(place.ref.session->store(), place.ref.session->place());
  while (dir && !path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    dir = dir->open_in(std::string(path.substr(0, end)));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return dir ? std::move(dir) : Result<Dir>(gone_or(dir.error()));
}

/// The folder and the last component of a path.
std::pair<std::string_view, std::string_view> split(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::pair{std::string_view(), path}
                                         : std::pair{path.substr(0, slash), path.substr(slash + 1)};
}

Result<FileStat> stat_of(const Place& place) {
  if (place.path.empty()) {
    ASSIGN_OR_RETURN(const auto dir, open_folder(place, ""));
    return dir.stat();
  }
  const auto [folder, name] = split(place.path);
  ASSIGN_OR_RETURN(auto dir, open_folder(place, folder));
  auto st = dir.stat(std::string(name));
  return st ? std::move(st) : Result<FileStat>(gone_or(st.error()));
}

Result<Child> child_of(MountState& state, NodeId node, const std::string& folder, const std::string& name,
                       bool is_folder) {
  const std::uint32_t number = state.artifact_paths.number_of(folder.empty() ? name : folder + "/" + name);
  if (number == 0) {
    return no_such_name();
  }
  return Child{NodeId(is_folder ? Kind::artifact_dir : Kind::artifact_file, node.slot(), number), CacheTtl::moment};
}

Result<Attr> attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  ASSIGN_OR_RETURN(const auto place, place_of(state, node));
  ASSIGN_OR_RETURN(const auto st, stat_of(place));
  const bool is_folder = node.kind() == Kind::artifact_dir;
  if (is_folder ? !S_ISDIR(st.mode) : !S_ISREG(st.mode)) {
    return stale_error();
  }
  const std::uint64_t ino = stable_ino(place.ref.seed, "artifact", place.path);
  return Attr{
      node,       ino, is_folder ? FileType::directory : FileType::file, CacheTtl::moment, is_folder ? 0 : st.size,
      st.mtime_ns};
}

Result<Child> lookup(MountState& state, RequestContext& /*call*/, NodeId node, std::string_view name) {
  ASSIGN_OR_RETURN(const auto place, place_of(state, node));
  ASSIGN_OR_RETURN(const auto dir, open_folder(place, place.path));
  const auto on_disk = name_on_disk(dir, name);
  if (!on_disk) {
    return no_such_name();
  }
  const auto st = dir.stat(*on_disk);
  if (!st || (!S_ISDIR(st->mode) && !S_ISREG(st->mode))) {
    return no_such_name();
  }
  return child_of(state, node, place.path, *on_disk, S_ISDIR(st->mode));
}

Result<ListingPtr> list(MountState& state, RequestContext& /*call*/, NodeId node) {
  ASSIGN_OR_RETURN(const auto place, place_of(state, node));
  ASSIGN_OR_RETURN(const auto dir, open_folder(place, place.path));
  ASSIGN_OR_RETURN(const auto found, dir.list());
  ASSIGN_OR_RETURN(const auto st, dir.stat());
  std::vector<NamesSnapshot::Item> items;
  for (const auto& row : found) {
    if (row.type != DT_DIR && row.type != DT_REG) {
      continue;
    }
    if (const auto child = child_of(state, node, place.path, row.name, row.type == DT_DIR)) {
      items.push_back({names::encode_file(row.name), *child, std::nullopt});
    }
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), static_cast<std::uint64_t>(st.mtime_ns)));
}

Result<OpenFilePtr> open(MountState& state, RequestContext& /*call*/, NodeId node) {
  ASSIGN_OR_RETURN(const auto place, place_of(state, node));
  const auto [folder, name] = split(place.path);
  ASSIGN_OR_RETURN(const auto dir, open_folder(place, folder));
  auto file = File::open_in(dir, std::string(name));
  if (!file) {
    return gone_or(file.error());
  }
  ASSIGN_OR_RETURN(const auto st, file->stat());
  if (state.told_otherwise(node, st.size)) {
    return stale_error();
  }
  return OpenFilePtr(std::make_shared<DiskFile>(std::make_shared<const File>(std::move(*file)), false));
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::artifact_dir, "artifacts", attr, lookup, list),
      file_row(Kind::artifact_file, "artifact", attr, open),
  };
  return kRows;
}

}  // namespace arborfs::artifact_nodes
