#include "core/formats/goat/write/rewind.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/goat/write/new_records.h"
#include "core/json/document.h"
#include "core/os/file_attributes.h"
#include "core/os/temp_file.h"

namespace arborfs::goat {
namespace {

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

}  // namespace arborfs::goat
