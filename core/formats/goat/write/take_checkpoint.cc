#include "core/formats/goat/write/take_checkpoint.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/formats/goat/checkpoints.h"
#include "core/formats/goat/write/new_records.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/writer/new_file.h"

namespace arborfs::goat {
namespace {

constexpr const char* kContents = "files";
constexpr const char* kIncoming = "incoming";  // a content whose hash is not known yet
constexpr const char* kLastOfGoat = "session-end";
constexpr mode_t kContentMode = 0600;  // the working file may be private
constexpr std::size_t kLongestName = 200;
constexpr std::size_t kStep = std::size_t{1} << 20U;

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
  RETURN_IF_ERROR(place.disk.make_folder(folder->dir(), kContents, kFolderMode));
  ASSIGN_OR_RETURN(const auto contents, folder->dir().open_in(kContents));
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
