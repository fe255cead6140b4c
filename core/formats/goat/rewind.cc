#include "core/formats/goat/rewind.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/formats/goat/checkpoints.h"
#include "core/formats/goat/new_records.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/os/file_tree.h"
#include "core/os/temp_file.h"
#include "core/write/new_file.h"

namespace arborfs::goat {
namespace {

constexpr std::size_t kStep = std::size_t{1} << 20U;

/// Copies a file. Returns the SHA-256 of the copied bytes, in hex digits. Errors: those of the disk.
Result<std::string> copy_hashed(Disk& disk, const File& file, int to) {
  Sha256 digest;
  std::string buffer(kStep, '\0');
  for (std::uint64_t at = 0;;) {
    ASSIGN_OR_RETURN(const auto got, file.read_at(at, buffer));
    const std::string_view piece = std::string_view(buffer).substr(0, got);
    digest.update(piece);
    RETURN_IF_ERROR(write_all(disk, to, piece));
    at += got;
    if (got < buffer.size()) {
      return digest.finish_hex();
    }
  }
}

constexpr mode_t kPrivateMode = 0600;
constexpr std::size_t kMostListed = 10'000;

/// Copies a stored content. Errors: corrupt if it does not match the hash; those of the disk.
Result<void> copy_checked(Disk& disk, const File& content, const std::string& hash, int to) {
  ASSIGN_OR_RETURN(const auto copied, copy_hashed(disk, content, to));
  if (copied != hash) {
    return Error{Errc::corrupt, "the content in the checkpoint does not match its hash"};
  }
  return {};
}

class Rewinding {
 public:
  Rewinding(const CheckpointPlace& place, const Checkpoint& checkpoint) : place_(place), checkpoint_(checkpoint) {}

  /// `kept` is the file as the new checkpoint recorded it.
  Result<void> put_back(const PlannedFile& file, const KeptFile& kept) const {
    if (file.action == RewindAction::remove) {
      return remove(kept);
    }
    ASSIGN_OR_RETURN(const auto folder, make_folder_of(file.parts));
    ASSIGN_OR_RETURN(const auto written, write(folder, file, kept));
    RETURN_IF_ERROR(check_unchanged(folder, kept));
    RETURN_IF_ERROR(put_in_place(*written, kept));
    return place_.sync ? place_.disk.sync_folder(folder) : Result<void>();
  }

 private:
  static Result<void> check_unchanged(const Dir& folder, const KeptFile& kept) {
    const auto now = folder.stat(kept.parts.back());
    const bool is_gone = !now && now.error().code == Errc::not_found;
    const bool is_same = kept.seen ? now && *now == *kept.seen : is_gone;
    return is_same ? Result<void>() : changed_meanwhile();
  }
  static bool is_as_kept(const File& file, const KeptFile& kept) {
    const auto now = file.stat();
    return now && *now == *kept.seen;
  }
  static Error changed_meanwhile() { return {Errc::stale, "another program changed it meanwhile"}; }

  /// The name while it is examined is not that of a temporary file, which a later checkpoint would clean up: where the
  /// file cannot get its own name back, it may have what another program wrote.
  [[nodiscard]] Result<void> remove(const KeptFile& kept) const {
    if (!kept.seen) {
      return changed_meanwhile();
    }
    ASSIGN_OR_RETURN(const auto folder, place_.work.folder_of(kept.parts));
    ASSIGN_OR_RETURN(const bool is_done, remove_as_read(place_.disk, folder, kept.parts.back(), removed_name(),
                                                        [&](const File& old) { return is_as_kept(old, kept); }));
    RETURN_IF_ERROR(is_done ? Result<void>() : changed_meanwhile());
    return place_.sync ? place_.disk.sync_folder(folder) : Result<void>();
  }

  /// Opens the folder of a file and creates the missing part of its path.
  [[nodiscard]] Result<Dir> make_folder_of(const std::vector<std::string>& parts) const {
    ASSIGN_OR_RETURN(auto dir, place_.work.folder_of({"."}));
    for (std::size_t depth = 0; depth + 1 < parts.size(); ++depth) {
      auto next = place_.work.enter(dir, parts, depth);
      if (!next && next.error().code == Errc::not_found) {
        RETURN_IF_ERROR(place_.disk.make_folder(dir, parts[depth], kFolderMode));
        RETURN_IF_ERROR(place_.sync ? place_.disk.sync_folder(dir) : Result<void>());
        next = place_.work.enter(dir, parts, depth);
        RETURN_IF_ERROR(next ? keep_owner_of_folder(place_.disk, dir, next->fd()) : Result<void>());
      }
      ASSIGN_OR_RETURN(dir, std::move(next));
    }
    return dir;
  }

  Result<TempFile::Ptr> write(const Dir& folder, const PlannedFile& file, const KeptFile& kept) const {
    ASSIGN_OR_RETURN(const auto content, open_content(place_.session, checkpoint_.id, file.hash));
    const bool keeps_mode = file.mode || kept.seen;
    ASSIGN_OR_RETURN(auto written, TempFile::create(place_.disk, folder, keeps_mode ? kPrivateMode : kFileMode));
    RETURN_IF_ERROR(copy_checked(place_.disk, content, file.hash, written->fd()));
    if (kept.seen) {
      ASSIGN_OR_RETURN(const auto present, File::open_in(folder, kept.parts.back()));
      RETURN_IF_ERROR(written->keep_attributes(present, file.mode));
    } else {
      RETURN_IF_ERROR(keep_owner_of_folder(place_.disk, folder, written->fd()));
      RETURN_IF_ERROR(file.mode ? place_.disk.set_mode(written->fd(), *file.mode & kPermissions) : Result<void>());
    }
    RETURN_IF_ERROR(written->finish(place_.sync));
    return written;
  }

  /// A program may write to the file in the same moment.
  static Result<void> put_in_place(TempFile& written, const KeptFile& kept) {
    const std::string& target = kept.parts.back();
    if (!kept.seen) {
      return written.publish(written.folder(), target, Disk::Existing::keep);
    }
    ASSIGN_OR_RETURN(const bool is_done,
                     written.replace(target, [&](const File& old) { return is_as_kept(old, kept); }));
    return is_done ? Result<void>() : changed_meanwhile();
  }

  const CheckpointPlace& place_;
  const Checkpoint& checkpoint_;
};

constexpr const char* kNewContents = "files";
constexpr const char* kIncoming = "incoming";  // a content whose hash is not known yet
constexpr const char* kLastOfGoat = "session-end";
constexpr mode_t kContentMode = 0600;  // the working file may be private
constexpr std::size_t kLongestName = 200;

std::string path_of(const std::string& cwd, const std::vector<std::string>& parts) {
  std::string path = cwd;
  while (path.ends_with('/')) {
    path.pop_back();
  }
  for (const std::string& part : parts) {
    path += "/" + part;
  }
  return path;
}

/// Nothing if the file does not exist. Errors: invalid_argument; those of WorkFolder::folder_of and of opening it.
Result<std::optional<File>> open_working_file(const CheckpointPlace& place, const std::vector<std::string>& parts,
                                              FileStat& seen) {
  const auto folder = place.work.folder_of(parts);
  const auto there = folder ? folder->stat(parts.back()) : Result<FileStat>(folder.error());
  if (!there && there.error().code == Errc::not_found) {
    return std::optional<File>();
  }
  RETURN_IF_ERROR(there);
  if (!S_ISREG(there->mode)) {
    return Error{Errc::invalid_argument, "only regular files can be kept, and " + parts.back() + " is none"};
  }
  ASSIGN_OR_RETURN(auto file, File::open_in(*folder, parts.back(), &seen));
  return std::optional<File>(std::move(file));
}

class Taking {
 public:
  Taking(const CheckpointPlace& place, const Dir& contents) : place_(place), contents_(contents) {}

  Result<KeptFile> keep(const std::vector<std::string>& parts) {
    KeptFile kept{parts, std::nullopt, ""};
    FileStat seen;
    ASSIGN_OR_RETURN(const auto file, open_working_file(place_, parts, seen));
    if (!file) {
      return kept;
    }
    ASSIGN_OR_RETURN(kept.hash, store(*file));
    ASSIGN_OR_RETURN(const auto now, file->stat());
    if (!(now == seen)) {
      return Error{Errc::stale, parts.back() + " changed while it was read; try again"};
    }
    kept.seen = seen;
    return kept;
  }

 private:
  /// Stores a content under its hash, once.
  Result<std::string> store(const File& file) {
    ASSIGN_OR_RETURN(const auto fd, place_.disk.create(contents_, kIncoming, kContentMode));
    ASSIGN_OR_RETURN(auto hash, copy_hashed(place_.disk, file, fd.get()));
    RETURN_IF_ERROR(place_.sync ? place_.disk.sync(fd.get()) : Result<void>());
    RETURN_IF_ERROR(place_.disk.rename(contents_, kIncoming, contents_, hash, Disk::Existing::replace));
    return hash;
  }

  const CheckpointPlace& place_;
  const Dir& contents_;
};

std::string manifest_of(const std::string& id, const std::string& cwd, const std::vector<KeptFile>& files) {
  std::string text = "{\n  \"user_message_uuid\": " + go_literal(id) +
                     ",\n  \"created_at\": " + go_literal(timestamp_now()) + ",\n  \"files\": [";
  for (const KeptFile& file : files) {
    text += &file == &files.front() ? "\n    {" : ",\n    {";
    text += "\n      \"path\": " + go_literal(path_of(cwd, file.parts)) +
            ",\n      \"exists\": " + (file.seen ? "true" : "false");
    if (file.seen) {
      text += ",\n      \"hash\": \"" + file.hash + "\"";
      text += file.seen->size > 0 ? ",\n      \"size\": " + std::to_string(file.seen->size) : "";
      text += ",\n      \"mode\": " + std::to_string(file.seen->mode & kPermissions);
    }
    text += "\n    }";
  }
  return text + (files.empty() ? "]\n}" : "\n  ]\n}");
}

/// Removes what a killed rewind left next to the files.
void clear_leftovers(const CheckpointPlace& place, const std::vector<std::vector<std::string>>& files) {
  std::set<std::vector<std::string>> known;
  for (const auto& parts : files) {
    const auto folder = known.insert({parts.begin(), parts.end() - 1}).second ? place.work.folder_of(parts)
                                                                              : Result<Dir>(Errc::not_found, "");
    if (folder) {
      remove_leftovers(place.disk, *folder);
    }
  }
}

/// The folder of all checkpoints, which is created if it is missing.
Result<Dir> checkpoints_folder(const CheckpointPlace& place) {
  auto folder = place.session.open_in(kCheckpoints);
  if (folder || folder.error().code != Errc::not_found) {
    return folder;
  }
  RETURN_IF_ERROR(place.disk.make_folder(place.session, kCheckpoints, kFolderMode));
  RETURN_IF_ERROR(place.sync ? place.disk.sync_folder(place.session) : Result<void>());
  return place.session.open_in(kCheckpoints);
}

Error name_is_taken() {
  return {Errc::already_exists, "the session already has a checkpoint with that name"};
}

}  // namespace

Result<Rewound> rewind_to(const CheckpointPlace& place, const Checkpoint& checkpoint) {
  Rewound rewound{"", plan_rewind(place.session, checkpoint, place.work, true)};
  std::vector<std::vector<std::string>> changed;
  for (const PlannedFile& file : rewound.files) {
    if (file.changes()) {
      changed.push_back(file.parts);
    }
  }
  if (changed.empty()) {
    return rewound;
  }
  ASSIGN_OR_RETURN(rewound.kept, checkpoint_name_now("before-rewind"));
  ASSIGN_OR_RETURN(const auto kept, take_checkpoint(place, rewound.kept, changed));
  const Rewinding rewinding(place, checkpoint);
  std::size_t next = 0;
  for (PlannedFile& file : rewound.files) {
    if (!file.changes()) {
      continue;
    }
    if (const auto done = rewinding.put_back(file, kept[next++]); !done) {
      file.action = RewindAction::refused;
      file.why = done.error().message;
    }
  }
  return rewound;
}

std::string line_of(const std::string& checkpoint, bool dry_run, const Rewound& rewound) {
  std::map<RewindAction, std::size_t> counts;
  std::string files;
  std::size_t listed = 0;
  for (const PlannedFile& file : rewound.files) {
    ++counts[file.action];
    if (file.action == RewindAction::unchanged || ++listed > kMostListed) {
      continue;
    }
    files += std::string(files.empty() ? "" : ",") + "{\"path\":" + json::stringify_string(file.path) +
             ",\"action\":\"" + std::string(word_of(file.action)) + "\"";
    files += file.why.empty() ? "}" : ",\"why\":" + json::stringify_string(file.why) + "}";
  }
  const std::size_t written = counts[RewindAction::restore] + counts[RewindAction::create];
  const bool is_complete = counts[RewindAction::missing] + counts[RewindAction::refused] == 0;
  std::string line = "{\"checkpoint\":" + json::stringify_string(checkpoint);
  line += rewound.kept.empty() ? "" : ",\"kept\":" + json::stringify_string(rewound.kept);
  line += std::string(",\"dryRun\":") + (dry_run ? "true" : "false") +
          ",\"complete\":" + (is_complete ? "true" : "false") + ",\"written\":" + std::to_string(written) +
          ",\"removed\":" + std::to_string(counts[RewindAction::remove]) +
          ",\"unchanged\":" + std::to_string(counts[RewindAction::unchanged]) + ",\"files\":[" + files + "]";
  line += listed > kMostListed ? ",\"unlisted\":" + std::to_string(listed - kMostListed) : "";
  return line + "}\n";
}

Result<void> check_checkpoint_name(const std::string& name) {
  const bool has_controls =
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  if (!is_plain_name(name) || name.starts_with('.') || name.size() > kLongestName || has_controls ||
      !json::is_valid_utf8(name)) {
    return Error{Errc::invalid_argument,
                 "the name of a checkpoint must have at most 200 bytes, no slash, and no dot at its beginning"};
  }
  if (name == kLastOfGoat) {
    return Error{Errc::invalid_argument, "goat itself uses that name for the end of a session; choose another one"};
  }
  return {};
}

Result<std::string> checkpoint_name_now(const std::string& word) {
  std::string time = timestamp_now();
  std::replace(time.begin(), time.end(), ':', '-');
  ASSIGN_OR_RETURN(const auto unique, new_uuid());
  return word + "-" + time + "-" + unique.substr(0, 8);
}

Result<std::vector<KeptFile>> take_checkpoint(const CheckpointPlace& place, const std::string& id,
                                              const std::vector<std::vector<std::string>>& files) {
  ASSIGN_OR_RETURN(const auto all, checkpoints_folder(place));
  if (all.stat(id)) {
    return name_is_taken();
  }
  clear_leftovers(place, files);
  ASSIGN_OR_RETURN(auto folder, new_folder(place.disk, all, kAnyPermissions, place.sync));
  RETURN_IF_ERROR(place.disk.make_folder(folder->dir(), kNewContents, kFolderMode));
  ASSIGN_OR_RETURN(const auto contents, folder->dir().open_in(kNewContents));
  Taking taking(place, contents);
  std::vector<KeptFile> kept;
  for (const auto& parts : files) {
    ASSIGN_OR_RETURN(auto one, taking.keep(parts));
    kept.push_back(std::move(one));
  }
  RETURN_IF_ERROR(place.sync ? place.disk.sync_folder(contents) : Result<void>());
  const std::string manifest = manifest_of(id, place.cwd, kept);
  if (manifest.size() > kLongestManifest) {
    return Error{Errc::too_large, "there are more files than one checkpoint can list"};
  }
  RETURN_IF_ERROR(folder->put(kManifest, manifest));
  if (auto published = folder->publish(id); !published) {
    return published.error().code == Errc::already_exists ? name_is_taken() : published.error();
  }
  RETURN_IF_ERROR(folder->sync_name());
  return kept;
}

}  // namespace arborfs::goat
