#include "core/formats/goat/rewind_plan.h"

#include <sys/stat.h>

#include <map>
#include <utility>

#include "core/base/result_macros.h"
#include "core/os/file_hash.h"

namespace arborfs::goat {
namespace {

constexpr std::uint32_t kPermissions = 0777;

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

}  // namespace

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

}  // namespace arborfs::goat
