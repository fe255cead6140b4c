// goat's sessions: one folder each in a base folder (goat/FORMAT.md A). A session's place is its folder, with the
// folder's name plus .jsonl as the file. `artifacts` of a session is its folder, with transcript and checkpoints.
// Written by GoatWriter (write/goat_writer.h). Thread-safe.
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/formats/goat/checkpoint_files.h"
#include "core/formats/goat/checkpoints.h"
#include "core/formats/goat/goat_format.h"
#include "core/formats/goat/goat_source.h"
#include "core/formats/goat/locked_log.h"
#include "core/formats/goat/metadata.h"
#include "core/log/log_file.h"
#include "core/os/environment.h"
#include "core/os/file.h"
#include "core/os/held_locks.h"
#include "core/os/leftover_files.h"
#include "core/os/processes.h"
#include "core/os/temp_file.h"
#include "core/os/work_folder.h"
#include "core/store/finding.h"
#include "core/store/log_listing.h"
#include "core/store/store_parts.h"
#include "core/store/stored_files.h"

namespace arborfs::goat {
namespace {

class Store final : public SessionStore,
                    public HasArtifacts,
                    public HasCheckpoints,
                    public HasNativeFiles,
                    public HasLiveSigns,
                    public HasFaults {
 public:
  /// `disk` outlives the store. The base folder is `paths.sessions`.
  Store(StorePaths paths, Disk& disk) : SessionStore(goat_format(), std::move(paths), disk) {}

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
// (core/os/leftover_files.h), as findings. Any thread.

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

}  // namespace arborfs::goat

namespace arborfs {

std::shared_ptr<SessionStore> make_goat_store(const std::string& dir, Disk& disk) {
  StorePaths paths;
  paths.agent_dir = resolved_path(dir);
  const std::string below = paths.agent_dir + "/sessions";
  paths.sessions = goat::is_base_folder(below) ? below : paths.agent_dir;
  return std::make_shared<goat::Store>(std::move(paths), disk);
}

}  // namespace arborfs
