#include "core/formats/goat/checkpoints.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/entry/names.h"
#include "core/entry/unified_diff.h"
#include "core/formats/goat/go_json.h"
#include "core/json/document.h"
#include "core/os/file.h"
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

PlannedFile refused(PlannedFile file, std::string why) {
  file.action = RewindAction::refused;
  file.why = std::move(why);
  return file;
}

/// Keeps the last used folder open: the files of a checkpoint often share one.
class Folders {
 public:
  explicit Folders(const WorkFolder& work) : work_(work) {}

  /// Nothing if the file does not exist. Errors: those of WorkFolder::folder_of.
  Result<std::optional<FileStat>> stat(const std::vector<std::string>& parts) {
    RETURN_IF_ERROR(open(parts));
    const auto st = found_ ? found_->stat(parts.back()) : Result<FileStat>(Errc::not_found, "no folder");
    if (!st && st.error().code != Errc::not_found) {
      return st.error();
    }
    return st ? std::optional(*st) : std::nullopt;
  }
  Result<std::string> hash(const std::vector<std::string>& parts) {
    RETURN_IF_ERROR(open(parts));
    ASSIGN_OR_RETURN(const auto file, File::open_in(*found_, parts.back()));
    return sha256_of(file);
  }

 private:
  Result<void> open(const std::vector<std::string>& parts) {
    std::vector<std::string> folder(parts.begin(), parts.end() - 1);
    if (is_known_ && folder == parts_) {
      return {};
    }
    is_known_ = false;
    auto found = work_.folder_of(parts);
    if (!found && found.error().code != Errc::not_found) {
      return found.error();
    }
    found_ = found ? std::optional(std::move(*found)) : std::nullopt;
    parts_ = std::move(folder);
    is_known_ = true;
    return {};
  }

  const WorkFolder& work_;
  std::vector<std::string> parts_;
  std::optional<Dir> found_;  // nothing if it does not exist
  bool is_known_ = false;
};

/// Why the content cannot be written; "" if it can.
std::string problem_of(const Dir& session, const std::string& id, const std::string& hash) {
  const auto content = open_content(session, id, hash);
  const auto found = content ? sha256_of(*content) : Result<std::string>(content.error());
  if (!found) {
    return found.error().message;
  }
  return *found == hash ? "" : "the content in the checkpoint does not match its hash";
}

/// `file.present` is set. Errors: those of reading it.
Result<RewindAction> action_for(const PlannedFile& file, const CheckpointFile& wanted, Folders& folders) {
  if (!file.present) {
    return RewindAction::create;
  }
  const bool has_mode = !wanted.mode || (file.present->mode & kPermissions) == *wanted.mode;
  if (wanted.size && *wanted.size != file.present->size) {
    return RewindAction::restore;
  }
  ASSIGN_OR_RETURN(const auto hash, folders.hash(file.parts));
  return hash == wanted.hash && has_mode ? RewindAction::unchanged : RewindAction::restore;
}

PlannedFile plan_file(const CheckpointFile& wanted, const WorkFolder& work, Folders& folders) {
  PlannedFile file;
  file.path = wanted.path;
  auto parts = work.parts_of(wanted.path);
  if (!parts) {
    return refused(std::move(file), parts.error().message);
  }
  file.parts = std::move(*parts);
  const auto present = folders.stat(file.parts);
  if (!present) {
    return refused(std::move(file), present.error().message);
  }
  if (*present && !S_ISREG((*present)->mode)) {
    return refused(std::move(file), "the file at this path is not a regular file");
  }
  file.present = *present;
  if (wanted.state == CheckpointFile::State::absent) {
    file.action = file.present ? RewindAction::remove : RewindAction::unchanged;
    return file;
  }
  file.hash = wanted.hash;
  file.mode = wanted.mode;
  const auto action = action_for(file, wanted, folders);
  if (!action) {
    return refused(std::move(file), action.error().message);
  }
  file.action = *action;
  if (file.changes() && wanted.state == CheckpointFile::State::missing) {
    file.action = RewindAction::missing;
    file.why = "the checkpoint does not have its content";
  }
  return file;
}

/// The effective rows: the last one for each file, at the position of the first.
std::vector<const CheckpointFile*> rows_of(const Checkpoint& checkpoint, const WorkFolder& work) {
  std::vector<const CheckpointFile*> rows;
  std::map<std::vector<std::string>, std::size_t> places;
  for (const CheckpointFile& file : checkpoint.files) {
    auto parts = work.parts_of(file.path);
    const auto known = parts ? places.emplace(std::move(*parts), rows.size()) : std::pair(places.end(), true);
    if (known.second) {
      rows.push_back(&file);
    } else {
      rows[known.first->second] = &file;
    }
  }
  return rows;
}

constexpr std::uint64_t kLongestFile = std::uint64_t{1} << 20U;
constexpr std::size_t kLongestDiff = std::size_t{4} << 20U;

Result<std::string> text_of(Result<File> file) {
  const auto st = file ? file->stat() : Result<FileStat>(file.error());
  if (!st) {
    return st.error();
  }
  if (st->size > kLongestFile) {
    return Error{Errc::too_large, "it is too long to be compared here"};
  }
  return file->read(0, st->size);
}

Result<std::string> present_text(const PlannedFile& file, const WorkFolder& work) {
  const auto folder = work.folder_of(file.parts);
  return text_of(folder ? File::open_in(*folder, file.parts.back()) : Result<File>(folder.error()));
}

std::string shown_path(const PlannedFile& file) {
  std::string path;
  for (const std::string& part : file.parts) {
    path += "/" + part;
  }
  return names::without_controls(path);
}

std::string remark(const PlannedFile& file, std::string_view word, const std::string& why) {
  return "# " + std::string(word) + " " + names::without_controls(file.path) + (why.empty() ? "" : ": " + why) + "\n";
}

std::string mode_change(const PlannedFile& file) {
  const auto octal = [](std::uint32_t mode) {
    std::string digits;
    for (unsigned shift = 9; shift > 0; shift -= 3) {
      digits += static_cast<char>('0' + ((mode >> (shift - 3)) & 7U));
    }
    return digits;
  };
  const bool differs = file.present && file.mode && (file.present->mode & kPermissions) != *file.mode;
  return differs ? remark(file, "mode", octal(file.present->mode) + " to " + octal(*file.mode)) : "";
}

std::string diff_of_file(const Dir& session, const std::string& id, const PlannedFile& file, const WorkFolder& work) {
  const auto before = file.present ? present_text(file, work) : Result<std::string>(std::string());
  const bool stays = file.action != RewindAction::remove;
  const auto after = stays ? text_of(open_content(session, id, file.hash)) : Result<std::string>(std::string());
  if (!before || !after) {
    return remark(file, word_of(file.action), before ? after.error().message : before.error().message);
  }
  const std::string path = shown_path(file);
  const std::string old_name = file.present ? "a" + path : "";
  const std::string new_name = stays ? "b" + path : "";
  const std::string text = unified_diff({old_name, new_name}, *before, *after);
  return mode_change(file) + (text.empty() ? remark(file, word_of(file.action), "") : text);
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

std::string_view word_of(RewindAction action) {
  switch (action) {
    case RewindAction::unchanged:
      return "unchanged";
    case RewindAction::restore:
      return "restore";
    case RewindAction::create:
      return "create";
    case RewindAction::remove:
      return "remove";
    case RewindAction::missing:
      return "missing";
    case RewindAction::refused:
      break;
  }
  return "refused";
}

std::vector<PlannedFile> plan_rewind(const Dir& session, const Checkpoint& checkpoint, const WorkFolder& work,
                                     bool checked) {
  Folders folders(work);
  std::vector<PlannedFile> plan;
  for (const CheckpointFile* wanted : rows_of(checkpoint, work)) {
    PlannedFile file = plan_file(*wanted, work, folders);
    const bool writes = file.action == RewindAction::restore || file.action == RewindAction::create;
    if (checked && writes) {
      file.why = problem_of(session, checkpoint.id, file.hash);
      file.action = file.why.empty() ? file.action : RewindAction::missing;
    }
    plan.push_back(std::move(file));
  }
  return plan;
}

std::string diff_of(const Dir& session, const Checkpoint& checkpoint, const WorkFolder& work) {
  std::string out;
  for (const PlannedFile& file : plan_rewind(session, checkpoint, work, false)) {
    if (file.action == RewindAction::unchanged) {
      continue;
    }
    if (out.size() > kLongestDiff) {
      return out + "# the rest is too long to be shown here\n";
    }
    out += file.changes() ? diff_of_file(session, checkpoint.id, file, work)
                          : remark(file, word_of(file.action), file.why);
  }
  return out;
}

}  // namespace arborfs::goat
