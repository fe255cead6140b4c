// Changes to the file store of omp and pi: the log under the agents' lock, drafts in its folder, renames of a log with
// all its files. For omp_store.cc; one object is used by one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/formats/omp/store/omp_file_lock.h"
#include "core/store/log_writer.h"
#include "core/store/session_store.h"

namespace arborfs {

/// `folder_path` is the absolute path of the log's folder, as the agents spell it.
Result<std::unique_ptr<LogWriter>> open_omp_writer(Disk& disk, Dir folder, const std::string& folder_path,
                                                   const std::string& file);

/// Fails as open_omp_writer() would, or as the first append, or the first replacement. Takes no lock.
Result<void> probe_omp_writer(Disk& disk, Dir folder, const std::string& file, bool is_replaced);

/// `.<log>.<16 hex digits>.tmp`, which agents recognise as a rewrite in progress (omp/FORMAT.md F8). A different one on
/// each call.
std::string omp_temporary_name(const std::string& file);

/// LogFiles::draft and redraft. `file`: the name that it will get in the folder.
Result<std::unique_ptr<LogDraft>> start_omp_draft(Disk& disk, Dir folder, const std::string& file, mode_t permissions);
Result<std::unique_ptr<LogDraft>> start_omp_redraft(Disk& disk, Dir folder, const std::string& file,
                                                    const File& replaced);
Result<void> publish_omp_draft(LogDraft& draft, const std::string& file, Disk::Existing existing, bool sync);

/// The existing names in a folder that belong to a log, in byte order: the log, its artifacts, its backups. Errors:
/// those of listing.
Result<std::vector<std::string>> omp_belongings(const Dir& folder, const std::string& file);

/// Renames a log with its artifacts and backups, to another folder or another name. On an error everything is renamed
/// back.
Result<void> move_omp_log(Disk& disk, const Dir& from, const std::string& file, const Dir& to,
                          const std::string& new_name);

}  // namespace arborfs
