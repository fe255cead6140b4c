#include "core/formats/omp/store/omp_log_change.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "core/base/result_macros.h"
#include "core/os/file_attributes.h"

namespace arborfs {

namespace {

constexpr std::string_view kJsonlSuffix = ".jsonl";
constexpr std::string_view kBackupSuffix = ".bak";
constexpr mode_t kLogMode = 0666;
constexpr mode_t kPrivateMode = 0600;

}  // namespace

std::string omp_temporary_name(const std::string& file) {
  return "." + file + "." + unique_hex() + ".tmp";
}

Result<std::vector<std::string>> omp_belongings(const Dir& folder, const std::string& file) {
  ASSIGN_OR_RETURN(auto entries, folder.list());
  const std::string stem = file.substr(0, file.size() - kJsonlSuffix.size());
  std::vector<std::string> names;
  for (auto& entry : entries) {
    const bool is_backup = entry.name.starts_with(file + ".") && entry.name.ends_with(kBackupSuffix);
    if (entry.name == file || (entry.name == stem && entry.type == DT_DIR) || is_backup) {
      names.push_back(std::move(entry.name));
    }
  }
  return names;
}

Result<std::unique_ptr<LogWriter>> open_omp_writer(Disk& disk, Dir folder, const std::string& folder_path,
                                                   const std::string& file) {
  const auto held = std::make_shared<const Dir>(std::move(folder));  // outlives the lock, wherever that ends
  RETURN_IF_ERROR(held->stat(file));
  ASSIGN_OR_RETURN(auto lock, OmpFileLock::take(disk, *held, folder_path, file));
  ASSIGN_OR_RETURN(auto reader, File::open_in(*held, file));
  ASSIGN_OR_RETURN(const auto st, reader.stat());
  return std::make_unique<LogWriter>(disk, held, file, std::make_shared<const OmpFileLock>(std::move(lock)),
                                     std::move(reader), st);
}

Result<void> probe_omp_writer(Disk& disk, Dir folder, const std::string& file, bool is_replaced) {
  const auto held = std::make_shared<const Dir>(std::move(folder));
  RETURN_IF_ERROR(OmpFileLock::probe(*held, file));
  RETURN_IF_ERROR(check_not_append_only(*held));
  if (::faccessat(held->fd(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return error_from_errno(errno, "cannot create the log's lock");
  }
  ASSIGN_OR_RETURN(auto reader, File::open_in(*held, file));
  ASSIGN_OR_RETURN(const auto st, reader.stat());
  LogWriter log(disk, held, file, nullptr, std::move(reader), st);
  RETURN_IF_ERROR(log.try_append());
  return is_replaced ? log.try_replace() : Result<void>();
}

Result<std::unique_ptr<LogDraft>> start_omp_draft(Disk& disk, Dir folder, const std::string& file, mode_t permissions) {
  return TempFile::create(disk, std::move(folder), kLogMode & permissions, omp_temporary_name(file));
}

Result<std::unique_ptr<LogDraft>> start_omp_redraft(Disk& disk, Dir folder, const std::string& file,
                                                    const File& replaced) {
  ASSIGN_OR_RETURN(auto draft, TempFile::create(disk, std::move(folder), kPrivateMode, omp_temporary_name(file)));
  RETURN_IF_ERROR(draft->keep_attributes(replaced));
  return draft;
}

Result<void> publish_omp_draft(LogDraft& draft, const std::string& file, Disk::Existing existing, bool sync) {
  RETURN_IF_ERROR(publish_closed(draft, draft.folder(), file, existing));
  auto synced = sync ? draft.disk().sync_folder(draft.folder()) : Result<void>();
  if (!synced && existing == Disk::Existing::keep) {
    static_cast<void>(draft.disk().remove(draft.folder(), file));  // it has not been acknowledged
  }
  return synced;
}

Result<void> move_omp_log(Disk& disk, const Dir& from, const std::string& file, const Dir& to,
                          const std::string& new_name) {
  ASSIGN_OR_RETURN(auto names, omp_belongings(from, file));
  const std::string stem = file.substr(0, file.size() - kJsonlSuffix.size());
  const std::string new_stem = new_name.substr(0, new_name.size() - kJsonlSuffix.size());
  std::vector<std::pair<std::string, std::string>> moved;
  for (const auto& name : names) {
    const std::string target = new_stem + name.substr(stem.size());
    if (auto done = disk.rename(from, name, to, target, Disk::Existing::keep); !done) {
      while (!moved.empty()) {
        static_cast<void>(disk.rename(to, moved.back().second, from, moved.back().first, Disk::Existing::keep));
        moved.pop_back();
      }
      return done;
    }
    moved.emplace_back(name, target);
  }
  return moved.empty() ? Result<void>(Errc::not_found, "the log is gone") : Result<void>();
}

}  // namespace arborfs
