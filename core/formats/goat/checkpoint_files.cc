#include "core/formats/goat/checkpoint_files.h"

#include <dirent.h>

#include <algorithm>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/goat/rewind_plan.h"
#include "core/os/work_folder.h"
#include "core/render/names.h"

namespace arborfs::goat {
namespace {

constexpr const char* kDiff = "diff";
constexpr const char* kFiles = "files";

Error no_such_file() {
  return {Errc::not_found, "there is no such file in the checkpoint"};
}

/// The path in `files/`: below the working directory if the file was there, else one name.
std::string shown_path(const std::string& path, const std::string& cwd) {
  auto parts = path_components(path);
  if (path.starts_with('/')) {
    const auto start = path_components(cwd);
    const bool is_below =
        !start.empty() && parts.size() > start.size() && std::equal(start.begin(), start.end(), parts.begin());
    parts.erase(parts.begin(), is_below ? parts.begin() + static_cast<std::ptrdiff_t>(start.size()) : parts.end());
  }
  std::string shown;
  for (const std::string& part : parts) {
    if (!is_plain_name(part)) {
      shown.clear();
      break;
    }
    shown += (shown.empty() ? "" : "/") + names::encode_file(part);
  }
  return shown.empty() ? names::encode_file(path) : shown;
}

/// Adds the folders of a path; false if one of them is a file.
bool add_folders(CheckpointTree& tree, const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (!tree.nodes.try_emplace(path.substr(0, slash), CheckpointTree::Node{true, "", 0}).first->second.is_folder) {
      return false;
    }
  }
  const auto taken = tree.nodes.find(path);
  return taken == tree.nodes.end() || !taken->second.is_folder;
}

std::shared_ptr<const CheckpointTree> make_tree(const Checkpoint& checkpoint, const std::string& cwd) {
  std::map<std::string, const CheckpointFile*> last;
  for (const CheckpointFile& file : checkpoint.files) {
    last[file.path] = &file;
  }
  auto tree = std::make_shared<CheckpointTree>();
  for (const auto& [path, file] : last) {
    if (file->state != CheckpointFile::State::stored) {
      continue;
    }
    std::string shown = shown_path(path, cwd);
    if (!add_folders(*tree, shown)) {
      shown = names::encode_file(path);
    }
    tree->nodes.insert_or_assign(shown, CheckpointTree::Node{false, file->hash, file->size.value_or(0)});
  }
  return tree;
}

}  // namespace

Result<std::shared_ptr<const CheckpointTree>> CheckpointTrees::tree_of(const Dir& session, const std::string& id,
                                                                       const FileStat& manifest,
                                                                       const std::string& cwd) {
  {
    const std::lock_guard lock(mutex_);
    for (const Known& known : known_) {
      if (known.tree && known.manifest == manifest && known.cwd == cwd) {
        return known.tree;
      }
    }
  }
  ASSIGN_OR_RETURN(const auto checkpoint, read_checkpoint(session, id));
  auto tree = make_tree(checkpoint, cwd);
  const std::lock_guard lock(mutex_);
  known_[next_++ % known_.size()] = Known{manifest, cwd, tree};
  return tree;
}

/// The item at a path.
struct CheckpointFiles::Place {
  enum class Kind : std::uint8_t { top, checkpoint, manifest, diff, files, stored };
  Kind kind = Kind::top;
  std::string id;    // the name of the checkpoint's folder
  std::string path;  // of `stored`: in files/
};

CheckpointFiles::CheckpointFiles(Dir session, const FileStat& base, std::string cwd, CheckpointTrees& trees)
    : session_(std::move(session)), base_(base), cwd_(std::move(cwd)), trees_(trees) {}

Result<Dir> CheckpointFiles::checkpoints() const {
  return session_.open_in(kCheckpoints);
}

Result<CheckpointFiles::Place> CheckpointFiles::place_of(const std::string& path) const {
  Place place;
  if (path.empty()) {
    return place;
  }
  const std::size_t slash = path.find('/');
  const std::string shown = path.substr(0, slash);
  const auto name = names::decode_file(shown);
  if (!name || !is_plain_name(*name) || name->starts_with('.')) {
    return no_such_file();
  }
  place.id = *name;
  place.kind = Place::Kind::checkpoint;
  if (slash == std::string::npos) {
    return place;
  }
  const std::string rest = path.substr(slash + 1);
  if (rest == kManifest || rest == kDiff || rest == kFiles) {
    place.kind = rest == kManifest ? Place::Kind::manifest : rest == kDiff ? Place::Kind::diff : Place::Kind::files;
    return place;
  }
  if (!rest.starts_with(std::string(kFiles) + "/")) {
    return no_such_file();
  }
  place.kind = Place::Kind::stored;
  place.path = rest.substr(rest.find('/') + 1);
  return place;
}

bool CheckpointFiles::takes_long(const std::string& path) const {
  const auto place = place_of(path);
  return place && place->kind == Place::Kind::diff;
}

Result<std::shared_ptr<const CheckpointTree>> CheckpointFiles::tree_of(const Place& place) const {
  ASSIGN_OR_RETURN(const auto all, checkpoints());
  ASSIGN_OR_RETURN(const auto folder, all.open_in(place.id));
  ASSIGN_OR_RETURN(const auto manifest, folder.stat(kManifest));
  auto tree = trees_.tree_of(session_, place.id, manifest, cwd_);
  const bool is_broken = !tree && tree.error().code == Errc::corrupt;
  return is_broken ? Result<std::shared_ptr<const CheckpointTree>>(std::make_shared<const CheckpointTree>()) : tree;
}

Result<CheckpointTree::Node> CheckpointFiles::node_of(const Place& place) const {
  ASSIGN_OR_RETURN(const auto tree, tree_of(place));
  const auto found = tree->nodes.find(place.path);
  if (found != tree->nodes.end()) {
    return found->second;
  }
  for (const auto& [path, node] : tree->nodes) {
    if (!node.is_folder && node.hash == place.path) {
      return node;
    }
  }
  return no_such_file();
}

std::string CheckpointFiles::diff(const std::string& id) const {
  const auto checkpoint = read_checkpoint(session_, id);
  auto work = checkpoint ? WorkFolder::open(cwd_) : Result<WorkFolder>(checkpoint.error());
  const auto kept_out = work ? work->keep_out(base_) : Result<void>(work.error());
  if (!kept_out) {
    return "# a rewind is not possible: " + kept_out.error().message + "\n";
  }
  return diff_of(session_, *checkpoint, *work);
}

Result<ShownFiles::Stat> CheckpointFiles::stat(const std::string& path) const {
  ASSIGN_OR_RETURN(const auto place, place_of(path));
  ASSIGN_OR_RETURN(const auto all, checkpoints());
  if (place.kind == Place::Kind::top) {
    ASSIGN_OR_RETURN(const auto st, all.stat());
    return Stat{true, 0, st.mtime_ns};
  }
  ASSIGN_OR_RETURN(const auto folder, all.open_in(place.id));
  ASSIGN_OR_RETURN(const auto manifest, folder.stat(kManifest));
  switch (place.kind) {
    case Place::Kind::manifest:
      return Stat{false, manifest.size, manifest.mtime_ns};
    case Place::Kind::diff:
      return Stat{false, diff(place.id).size(), manifest.mtime_ns};
    case Place::Kind::stored: {
      ASSIGN_OR_RETURN(const auto node, node_of(place));
      return Stat{node.is_folder, node.size, manifest.mtime_ns};
    }
    default:
      return Stat{true, 0, manifest.mtime_ns};
  }
}

Result<bool> CheckpointFiles::is_folder(const std::string& path) const {
  return takes_long(path) ? Result<bool>(false) : ShownFiles::is_folder(path);
}

Result<std::vector<ShownFiles::Item>> CheckpointFiles::list(const std::string& path) const {
  ASSIGN_OR_RETURN(const auto place, place_of(path));
  std::vector<Item> items;
  if (place.kind == Place::Kind::checkpoint) {
    return std::vector<Item>{{kManifest, false}, {kDiff, false}, {kFiles, true}};
  }
  if (place.kind == Place::Kind::top) {
    ASSIGN_OR_RETURN(const auto all, checkpoints());
    ASSIGN_OR_RETURN(const auto entries, all.list());
    for (const DirEntry& entry : entries) {
      const auto folder =
          entry.type == DT_DIR && entry.name.front() != '.' ? all.open_in(entry.name) : Result<Dir>(no_such_file());
      if (folder && folder->stat(kManifest)) {
        items.push_back({names::encode_file(entry.name), true});
      }
    }
    return items;
  }
  ASSIGN_OR_RETURN(const auto tree, tree_of(place));
  const std::string start = place.path.empty() ? "" : place.path + "/";
  for (auto at = tree->nodes.lower_bound(start); at != tree->nodes.end() && at->first.starts_with(start); ++at) {
    if (at->first.find('/', start.size()) == std::string::npos) {
      items.push_back({at->first.substr(start.size()), at->second.is_folder});
    }
  }
  return items;
}

Result<ShownFiles::Content> CheckpointFiles::open(const std::string& path) const {
  ASSIGN_OR_RETURN(const auto place, place_of(path));
  if (place.kind == Place::Kind::diff) {
    return Content(diff(place.id));
  }
  if (place.kind == Place::Kind::stored) {
    ASSIGN_OR_RETURN(const auto node, node_of(place));
    ASSIGN_OR_RETURN(auto file, open_content(session_, place.id, node.hash));
    return Content(std::move(file));
  }
  ASSIGN_OR_RETURN(const auto all, checkpoints());
  ASSIGN_OR_RETURN(const auto folder, all.open_in(place.id));
  ASSIGN_OR_RETURN(auto file, File::open_in(folder, kManifest));
  return Content(std::move(file));
}

}  // namespace arborfs::goat
