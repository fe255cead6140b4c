// goat's sessions: one folder each in a base folder (goat/FORMAT.md A). A session's place is its folder, with the
// folder's name plus .jsonl as the file. `artifacts` of a session is its folder, with transcript and checkpoints.
// Thread-safe.
#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/entry/names.h"
#include "core/formats/goat/checkpoints.h"
#include "core/formats/goat/format.h"
#include "core/formats/goat/locked_log.h"
#include "core/formats/goat/metadata.h"
#include "core/log/log_file.h"
#include "core/os/environment.h"
#include "core/os/file.h"
#include "core/os/processes.h"
#include "core/os/temp_file.h"
#include "core/os/work_folder.h"
#include "core/store/finding.h"
#include "core/store/log_listing.h"
#include "core/store/store_parts.h"
#include "core/store/stored_files.h"

namespace arborfs::goat {
namespace {

// The checkpoints of a session as the mount shows them: `<id>/manifest.json`, `<id>/diff`, and below `<id>/files/` the
// stored files by their paths below the session's working directory; a file from elsewhere has its whole path as its
// name. `<id>/files/<hash>` leads to a content too, unlisted. Thread-safe.

/// The stored files of one checkpoint by their paths in `files/`.
struct CheckpointTree {
  struct Node {
    bool is_folder = false;
    std::string hash;
    std::uint64_t size = 0;
  };
  std::map<std::string, Node> nodes;  // without the top
};

/// The trees that were used last, because a listing asks for one many times.
class CheckpointTrees {
 public:
  /// `manifest` is its file's stat now. Errors: those of read_checkpoint.
  Result<std::shared_ptr<const CheckpointTree>> tree_of(const Dir& session, const std::string& id,
                                                        const FileStat& manifest, const std::string& cwd);

 private:
  struct Known {
    FileStat manifest;
    std::string cwd;
    std::shared_ptr<const CheckpointTree> tree;
  };
  std::mutex mutex_;            // leaf
  std::array<Known, 8> known_;  // guarded by mutex_
  std::size_t next_ = 0;        // guarded by mutex_
};

class CheckpointFiles final : public ShownFiles {
 public:
  /// `session` is the session's folder, `base` the stat of the folder of all sessions, `trees` outlives this.
  CheckpointFiles(Dir session, const FileStat& base, std::string cwd, CheckpointTrees& trees);

  [[nodiscard]] bool takes_long(const std::string& path) const override;
  [[nodiscard]] Result<Stat> stat(const std::string& path) const override;
  [[nodiscard]] Result<bool> is_folder(const std::string& path) const override;
  [[nodiscard]] Result<std::vector<Item>> list(const std::string& path) const override;
  [[nodiscard]] Result<Content> open(const std::string& path) const override;

 private:
  struct Place;
  [[nodiscard]] Result<Place> place_of(const std::string& path) const;
  [[nodiscard]] Result<Dir> checkpoints() const;
  [[nodiscard]] Result<std::shared_ptr<const CheckpointTree>> tree_of(const Place& place) const;
  [[nodiscard]] Result<CheckpointTree::Node> node_of(const Place& place) const;
  [[nodiscard]] std::string diff(const std::string& id) const;

  const Dir session_;
  const FileStat base_;
  const std::string cwd_;
  CheckpointTrees& trees_;
};

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

class Store final : public arborfs::Store,
                    public HasArtifacts,
                    public HasCheckpoints,
                    public HasNativeFiles,
                    public HasLiveSigns,
                    public HasFaults {
 public:
  /// `disk` outlives the store. The base folder is `paths.sessions`.
  Store(StorePaths paths, Disk& disk) : arborfs::Store(goat::format(), std::move(paths), disk) {}

  [[nodiscard]] std::string path_of(const LogPlace& place) const override;
  [[nodiscard]] std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const override;
  [[nodiscard]] Result<std::vector<std::string>> folders() const override;
  /// The one session of a folder, or none.
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                   const HeadWanted& wants_head) const override;
  [[nodiscard]] Result<FileStat> stat(const LogPlace& place, const Dir* in) const override;
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> open(const LogPlace& place) const override;
  [[nodiscard]] bool is_link(const LogPlace& place) const override;
  [[nodiscard]] Result<Dir> folder(const LogPlace& place) const override;
  [[nodiscard]] Result<File> open_file(const Dir& in, const LogPlace& place) const override;
  [[nodiscard]] Result<Dir> artifacts(const LogPlace& place) const override { return folder(place); }
  [[nodiscard]] std::unique_ptr<const LiveSigns> live_signs(bool is_running) const override;
  /// Unfinished checkpoints, missing contents, and the leftovers of interrupted writes in the session's folder.
  [[nodiscard]] std::vector<Finding> faults_of(const LogPlace& place) const override;
  /// The leftovers of interrupted writes in the base folder.
  [[nodiscard]] std::vector<FileFinding> faults() const override;
  [[nodiscard]] Result<ShownFilesPtr> checkpoints(const LogPlace& place) const override;
  [[nodiscard]] Result<ShownFilesPtr> native_files(const LogPlace& place) const override;

 private:
  mutable CheckpointTrees trees_;
};

// What killed writers of arborfs left in goat's folders and in the working directories of its sessions
// (core/os/temp_file.h), as findings. Any thread.

/// Those in a folder with this path. `what` was unfinished: "checkpoint".
std::vector<Finding> leftovers_in(const Dir& folder, const std::string& path, std::string_view what) {
  std::vector<Finding> found;
  for (const std::string& name : leftovers_of_writers(folder)) {
    const std::string text = is_removed_name(name) ? " is a file that an unfinished rewind was about to remove"
                                                   : " is what an unfinished " + std::string(what) + " by arborfs left";
    found.push_back({"leftover_temporary", path + "/" + name + text});
    found.back().leftover = path + "/" + name;
  }
  return found;
}

/// Those of rewinds, next to the files of the session's checkpoints below its working directory. `base` is the folder
/// of the sessions, in which nothing is looked for.
std::vector<Finding> leftovers_of_rewinds(const Dir& session, const std::string& cwd, const FileStat& base) {
  std::vector<Finding> found;
  const auto checkpoints = list_checkpoints(session);
  auto work = checkpoints && !checkpoints->empty() ? WorkFolder::open(cwd) : Result<WorkFolder>(Errc::not_found, "");
  if (!work || !work->keep_out(base)) {
    return found;
  }
  std::set<std::string> seen;
  for (const Checkpoint& checkpoint : *checkpoints) {
    for (const CheckpointFile& file : checkpoint.files) {
      const auto parts = work->parts_of(file.path);
      std::string path = cwd;
      for (std::size_t i = 0; parts && i + 1 < parts->size(); ++i) {
        path += "/" + (*parts)[i];
      }
      const auto folder =
          parts && seen.insert(path).second ? work->folder_of(*parts) : Result<Dir>(Errc::not_found, "");
      auto left = folder ? leftovers_in(*folder, path, "rewind") : std::vector<Finding>();
      std::move(left.begin(), left.end(), std::back_inserter(found));
    }
  }
  return found;
}

constexpr std::size_t kLongestMetadata = std::size_t{1} << 20U;  // longer files are not read, and do not count as JSON

LogPlace place_in(const std::string& folder) {
  return {folder, folder + ".jsonl"};
}

/// Nothing if there is no such file.
std::optional<FileStat> stat_metadata(const Dir& folder) {
  const auto metadata = stat_log(folder, kMetadataFile);
  return metadata ? std::optional(*metadata) : std::nullopt;
}

/// Errors: not_found if the folder is not a session; those of the messages.
Result<Parts> parts_in(const Dir& folder) {
  Parts parts;
  const auto messages = stat_log(folder, kMessagesFile);
  parts.metadata = stat_metadata(folder);
  if (messages) {
    parts.messages = *messages;
    return parts;
  }
  if (!parts.metadata || messages.error().code != Errc::not_found) {
    return messages.error();
  }
  ASSIGN_OR_RETURN(parts.folder, folder.stat());
  return parts;
}

/// Nothing, in `parts` too, if it cannot be read.
std::optional<std::string> read_metadata(const Dir& folder, Parts& parts) {
  parts.metadata.reset();
  FileStat seen;
  const auto file = File::follow_in(folder, kMetadataFile, &seen);
  auto text =
      file ? file->read(0, std::min<std::uint64_t>(seen.size, kLongestMetadata)) : Result<std::string>(file.error());
  if (!text) {
    return std::nullopt;
  }
  parts.metadata = seen;
  return std::move(text).value();
}

/// Null, in `parts` too, if there are none yet. Errors: io.
Result<std::shared_ptr<const LogSource>> open_messages(const Dir& folder, PooledFile::Opener reopen, Parts& parts) {
  parts.messages.reset();
  auto messages = LogFile::open(folder, kMessagesFile, std::move(reopen));
  if (messages) {
    parts.messages = (*messages)->opened();
  }
  return !messages && messages.error().code == Errc::not_found ? Result<std::shared_ptr<const LogSource>>(nullptr)
                                                               : std::move(messages);
}

/// See goat/FORMAT.md C6.
class FileLocks final : public LiveSigns {
 public:
  explicit FileLocks(const Store& store) : store_(store) {}

  [[nodiscard]] std::vector<std::string> of(const LogPlace& place) const override {
    std::vector<std::string> found;
    const auto folder = store_.folder(place);
    if (!folder) {
      return found;
    }
    for (const std::string& name : held(*folder, {lock_file_of(kMessagesFile), lock_file_of(kTranscriptFile)})) {
      if (is_lasting([&] { return !held(*folder, {name}).empty(); }, kLongestWrite)) {
        found.push_back("another process holds " + name);
      }
    }
    return found;
  }
  /// The caller holds the lock of the messages.
  [[nodiscard]] std::vector<std::string> under_lock(const LogPlace& place) const override {
    const auto folder = store_.folder(place);
    auto found = folder ? held(*folder, {lock_file_of(kTranscriptFile)}) : std::vector<std::string>();
    for (std::string& name : found) {
      name = "another process holds " + name;
    }
    return found;
  }

 private:
  /// Those of the lock files that another process holds now.
  static std::vector<std::string> held(const Dir& folder, const std::vector<std::string>& names) {
    std::vector<std::string> found;
    std::optional<std::set<std::uint64_t>> inodes;
    for (const std::string& name : names) {
      if (const auto lock = folder.stat(name)) {
        if (!inodes) {
          inodes = inodes_flocked_elsewhere();
        }
        if (inodes->contains(lock->ino)) {
          found.push_back(name);
        }
      }
    }
    return found;
  }

  const Store& store_;
};

/// A folder `sessions` may also be a session with that id.
bool is_base_folder(const std::filesystem::path& path) {
  std::error_code failed;
  return std::filesystem::is_directory(path, failed) && !std::filesystem::exists(path / "metadata.json", failed) &&
         !std::filesystem::exists(path / "messages.jsonl", failed);
}

}  // namespace

std::string Store::path_of(const LogPlace& place) const {
  return paths().sessions + "/" + place.folder + "/" + kMessagesFile;
}

Result<File> Store::open_file(const Dir& in, const LogPlace& /*place*/) const {
  return File::follow_in(in, kMessagesFile);
}

std::optional<LogPlace> Store::log_of(const std::string& folder, const std::string& file) const {
  return file == kMessagesFile || file == kMetadataFile ? std::optional(place_in(folder)) : std::nullopt;
}

Result<std::vector<std::string>> Store::folders() const {
  ASSIGN_OR_RETURN(const auto base, Dir::open_root(paths().sessions));
  ASSIGN_OR_RETURN(auto entries, base.list());
  std::vector<std::string> names;
  for (auto& entry : entries) {
    if (entry.name.front() != '.' && may_be_folder(base, entry)) {
      names.push_back(std::move(entry.name));
    }
  }
  return names;
}

Result<std::vector<FoundLog>> Store::logs(const std::string& folder, const HeadWanted& wants_head) const {
  FoundLog log{place_in(folder), {}, {}};
  ASSIGN_OR_RETURN(const auto dir, this->folder(log.place));
  std::vector<FoundLog> found;
  log.is_linked = dir.is_linked();
  auto parts = parts_in(dir);
  if (!parts) {
    if (parts.error().code != Errc::not_found) {
      log.left_out = parts.error().message;
      found.push_back(std::move(log));
    }
    return found;
  }
  if (wants_head && wants_head(log.place)) {
    const std::int64_t started = now_ns();
    const auto metadata = read_metadata(dir, *parts);
    log.head = FoundHead{header_of(metadata, log.place.folder), started};
  }
  log.stat = parts->together();
  found.push_back(std::move(log));
  return found;
}

Result<FileStat> Store::stat(const LogPlace& place, const Dir* in) const {
  if (in == nullptr) {
    ASSIGN_OR_RETURN(const auto dir, folder(place));
    return stat(place, &dir);
  }
  ASSIGN_OR_RETURN(const auto parts, parts_in(*in));
  return parts.together();
}

Result<std::shared_ptr<const LogSource>> Store::open(const LogPlace& place) const {
  ASSIGN_OR_RETURN(const auto dir, folder(place));
  const auto open_again = [root = paths().sessions, folder = place.folder] {
    return Dir::follow_below_root(root, folder);
  };
  Parts parts;
  Metadata metadata;
  metadata.read_ns = now_ns();
  metadata.text = read_metadata(dir, parts);
  metadata.stat = [open_again] {
    const auto again = open_again();
    return again ? stat_metadata(*again) : std::nullopt;
  };
  const auto reopen = [open_again]() -> Result<File> {
    ASSIGN_OR_RETURN(const auto again, open_again());
    return File::follow_in(again, kMessagesFile);
  };
  ASSIGN_OR_RETURN(auto messages, open_messages(dir, reopen, parts));
  if (!parts.messages && !parts.metadata) {
    return Error{Errc::not_found, "the session's folder has neither messages nor metadata"};
  }
  if (!messages) {
    ASSIGN_OR_RETURN(parts.folder, dir.stat());
  }
  return std::shared_ptr<const LogSource>(
      std::make_shared<const Source>(parts, std::move(messages), std::move(metadata), place.folder));
}

/// The folder is the session.
bool Store::is_link(const LogPlace& place) const {
  const auto base = Dir::open_root(paths().sessions);
  const auto dir = folder(place);
  const auto is_linked = [](const auto& in, const std::string& name) {
    const auto st = in ? in->stat(name) : Result<FileStat>(in.error());
    return st && S_ISLNK(st->mode);
  };
  return is_linked(base, place.folder) || is_linked(dir, kMessagesFile);
}

Result<Dir> Store::folder(const LogPlace& place) const {
  return Dir::follow_below_root(paths().sessions, place.folder);
}

std::unique_ptr<const LiveSigns> Store::live_signs(bool /*is_running*/) const {
  return std::make_unique<const FileLocks>(*this);
}

std::vector<FileFinding> Store::faults() const {
  std::vector<FileFinding> found;
  const auto base = Dir::open_root(paths().sessions);
  for (Finding& left : base ? leftovers_in(*base, paths().sessions, "session") : std::vector<Finding>()) {
    std::string path = left.leftover;
    found.push_back({std::move(path), std::move(left)});
  }
  return found;
}

std::vector<Finding> Store::faults_of(const LogPlace& place) const {
  std::vector<Finding> found;
  const auto take = [&](std::vector<Finding> left) { std::move(left.begin(), left.end(), std::back_inserter(found)); };
  const auto dir = folder(place);
  const std::string path = paths().sessions + "/" + place.folder;
  if (const auto base = Dir::stat_root(paths().sessions); dir && base) {
    Parts parts;
    take(leftovers_in(*dir, path, "write"));
    take(leftovers_of_rewinds(*dir, header_of(read_metadata(*dir, parts)).cwd, *base));
  }
  const auto all = dir ? dir->open_in(kCheckpoints) : Result<Dir>(dir.error());
  const auto entries = all ? all->list() : Result<std::vector<DirEntry>>(all.error());
  if (all) {
    take(leftovers_in(*all, path + "/" + kCheckpoints, "checkpoint"));
  }
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    if (is_temporary_name(entry.name)) {
      continue;
    }
    const auto checkpoint = read_checkpoint(*dir, entry.name);
    if (!checkpoint) {
      found.push_back({"unfinished_checkpoint", "the checkpoint " + entry.name + " has no manifest that can be read: " +
                                                    checkpoint.error().message});
      continue;
    }
    for (const CheckpointFile& file : checkpoint->files) {
      if (file.state == CheckpointFile::State::missing) {
        found.push_back({"missing_content", "the checkpoint " + entry.name + " lacks the content of " + file.path});
      }
    }
  }
  return found;
}

Result<ShownFilesPtr> Store::checkpoints(const LogPlace& place) const {
  ASSIGN_OR_RETURN(auto dir, folder(place));
  RETURN_IF_ERROR(dir.open_in(kCheckpoints));
  ASSIGN_OR_RETURN(const auto base, Dir::stat_root(paths().sessions));
  Parts parts;
  std::string cwd = header_of(read_metadata(dir, parts)).cwd;
  return ShownFilesPtr(std::make_unique<const CheckpointFiles>(std::move(dir), base, std::move(cwd), trees_));
}

Result<ShownFilesPtr> Store::native_files(const LogPlace& place) const {
  ASSIGN_OR_RETURN(auto dir, folder(place));
  return ShownFilesPtr(std::make_unique<const StoredFiles>(
      std::move(dir), std::vector<std::string>{kMetadataFile, kMessagesFile, kTranscriptFile, kCheckpoints}));
}

std::shared_ptr<arborfs::Store> make_store(const std::string& dir, Disk& disk) {
  StorePaths paths;
  paths.agent_dir = resolved_path(dir);
  const std::string below = paths.agent_dir + "/sessions";
  paths.sessions = is_base_folder(below) ? below : paths.agent_dir;
  return std::make_shared<Store>(std::move(paths), disk);
}

}  // namespace arborfs::goat
