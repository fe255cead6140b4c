#include "core/formats/restoring.h"

#include <algorithm>

#include "core/formats/goat/write/goat_trash.h"
#include "core/formats/omp/writer/omp_trash.h"
#include "core/formats/opal/write/opal_trash.h"
#include "core/formats/opencode/opencode_format.h"
#include "core/formats/opencode/opencode_store.h"
#include "core/formats/opencode/write/file_trash.h"
#include "core/formats/opencode/write/opencode_trash.h"

namespace arborfs {

bool has_log_name(const SessionStore& store, const LogPlace& place) {
  return store.may_have_logs(place.folder) && store.is_log_name(place.file);
}

Result<void> restore_omp(const std::string& trash, const Trashed& trashed, Disk& disk) {
  return OmpTrash(trash, disk).restore(trashed);
}

Result<void> restore_opal(const std::string& trash, const Trashed& trashed, Disk& disk) {
  return OpalTrash(trash, disk).restore(trashed);
}

/// A database exists while sessions are removed from it; a project's folder may be gone.
bool has_place_of_opencode(const SessionStore& store, const LogPlace& place) {
  const auto folders = store.folders();
  const bool is_in_files = &store.format() == &opencode_files_format();
  return place.file.ends_with(opencode::kPlaceSuffix) && !place.stem().empty() &&
         (is_in_files || (folders && std::find(folders->begin(), folders->end(), place.folder) != folders->end()));
}

Result<void> restore_opencode(const std::string& trash, const Trashed& trashed, Disk& disk) {
  if (trashed.format == opencode_files_format().name) {
    return OpenCodeFileTrash(trash, disk).restore(trashed);
  }
  return OpenCodeTrash(trash, disk).restore(trashed);
}

Result<void> finish_removal_of_opencode(const std::string& trash, const Trashed& trashed, Disk& disk) {
  return trashed.format == opencode_files_format().name ? OpenCodeFileTrash(trash, disk).finish(trashed)
                                                        : Result<void>();
}

bool has_place_of_goat(const SessionStore& /*store*/, const LogPlace& place) {
  return !place.folder.starts_with('.') && place.file == place.folder + ".jsonl";
}

Result<void> restore_goat(const std::string& trash, const Trashed& trashed, Disk& disk) {
  return GoatTrash(trash, disk).restore(trashed);
}

}  // namespace arborfs
