#include "core/formats/goat/checkpoints.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/goat/go_json.h"
#include "core/json/document.h"
#include "core/store/blob_store.h"

namespace arborfs::goat {
namespace {

constexpr std::array kContents = {"files", "blobs"};  // goat/FORMAT.md D3

/// The folders of a checkpoint that may hold contents.
std::vector<Dir> content_folders(const Dir& checkpoint) {
  std::vector<Dir> folders;
  for (const char* const name : kContents) {
    if (auto folder = checkpoint.open_in(name)) {
      folders.push_back(std::move(*folder));
    }
  }
  return folders;
}

/// The size of a stored content, if there is one.
std::optional<std::uint64_t> stored_size(const std::vector<Dir>& folders, const std::string& hash) {
  if (!BlobStore::is_blob_name(hash)) {
    return std::nullopt;
  }
  for (const Dir& folder : folders) {
    const auto st = folder.stat(hash);
    if (st && S_ISREG(st->mode)) {
      return st->size;
    }
  }
  return std::nullopt;
}

CheckpointFile file_of(const json::Value& listed, const std::vector<Dir>& contents) {
  constexpr std::uint32_t kPermissions = 0777;
  CheckpointFile file;
  file.path = go_string(go_member(listed, "path"));
  const json::Value* exists = go_member(listed, "exists");
  if (exists != nullptr && exists->IsFalse()) {
    file.state = CheckpointFile::State::absent;
    return file;
  }
  file.hash = go_string(go_member(listed, "hash"));
  file.size = stored_size(contents, file.hash);
  file.state = file.size ? CheckpointFile::State::stored : CheckpointFile::State::missing;
  const json::Value* mode = go_member(listed, "mode");
  if (mode != nullptr && mode->IsNumber() && mode->GetDouble() >= 0 && mode->GetDouble() <= kPermissions) {
    file.mode = static_cast<std::uint32_t>(mode->GetDouble());
  }
  return file;
}

Result<Checkpoint> read_in(const Dir& all, const std::string& id) {
  ASSIGN_OR_RETURN(const auto folder, all.open_in(id));
  FileStat seen;
  ASSIGN_OR_RETURN(const auto file, File::open_in(folder, kManifest, &seen));
  ASSIGN_OR_RETURN(const auto text, file.read(0, std::min(seen.size, kLongestManifest)));
  json::Document manifest;
  if (!json::parse(text, manifest) || !manifest.IsObject()) {
    return Error{Errc::corrupt, "the checkpoint's manifest is not a JSON object of at most 16 MiB"};
  }
  Checkpoint checkpoint{id, go_string(go_member(manifest, "created_at")), {}};
  const json::Value* files = go_member(manifest, "files");
  if (files != nullptr && files->IsArray()) {
    const auto contents = content_folders(folder);
    for (const json::Value& listed : files->GetArray()) {
      checkpoint.files.push_back(file_of(listed, contents));
    }
  }
  return checkpoint;
}

}  // namespace

Result<std::vector<Checkpoint>> list_checkpoints(const Dir& session) {
  std::vector<Checkpoint> found;
  const auto all = session.open_in(kCheckpoints);
  if (!all) {
    return all.error().code == Errc::not_found ? Result<std::vector<Checkpoint>>(found) : all.error();
  }
  ASSIGN_OR_RETURN(const auto entries, all->list());
  for (const DirEntry& entry : entries) {
    if (auto checkpoint =
            entry.type == DT_DIR ? read_in(*all, entry.name) : Result<Checkpoint>(Errc::not_found, "no folder")) {
      found.push_back(std::move(checkpoint).value());
    }
  }
  std::sort(found.begin(), found.end(), [](const Checkpoint& a, const Checkpoint& b) {
    return std::tie(a.created_at, a.id) < std::tie(b.created_at, b.id);
  });
  return found;
}

Result<Checkpoint> read_checkpoint(const Dir& session, const std::string& id) {
  ASSIGN_OR_RETURN(const auto all, session.open_in(kCheckpoints));
  return read_in(all, id);
}

Result<File> open_content(const Dir& session, const std::string& checkpoint, const std::string& hash) {
  if (!BlobStore::is_blob_name(hash)) {
    return Error{Errc::not_found, "no content has this hash"};
  }
  ASSIGN_OR_RETURN(const auto all, session.open_in(kCheckpoints));
  ASSIGN_OR_RETURN(const auto folder, all.open_in(checkpoint));
  for (const char* const name : kContents) {
    const auto contents = folder.open_in(name);
    if (auto file = contents ? File::open_in(*contents, hash) : Result<File>(contents.error())) {
      return file;
    }
  }
  return Error{Errc::not_found, "the checkpoint does not have this content"};
}

}  // namespace arborfs::goat
