// Logs that did not exist before: empty ones, and forks of others, as the agents write them (omp/FORMAT.md F3, F4, I1
// to I4). Complete and on the disk under their name, or not there. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/session/catalog.h"
#include "core/write/entry_draft.h"
#include "core/write/header_text.h"

namespace arborfs {

/// The folder below sessions/ where the agents would look for sessions of a working directory.
std::string folder_for(const std::string& cwd, const Catalog& catalog);
/// An absolute path without links as far as it exists (omp/FORMAT.md F4). Errors: invalid_argument when it is not
/// absolute.
Result<std::string> resolved_cwd(const std::string& cwd);

/// Writes a log of this header and these entries, one behind the other. Errors: io, no_space, already_exists.
Result<LogPlace> write_new_log(Catalog& catalog, NewHeader header, const std::vector<EntryDraft>& entries, bool sync);

/// What a fork takes of its source.
enum class ForkOf : std::uint8_t {
  all,   // fork(): every entry of every branch (omp/FORMAT.md I1)
  path,  // createBranchedSession(): the way to one entry, without label entries, whose labels follow (omp/FORMAT.md I3)
};
struct ForkPlan {
  ForkOf what = ForkOf::all;
  Ordinal leaf = kNoEntry;         // for path
  std::optional<std::string> cwd;  // another one than the source's
  /// "" for the source's with " (fork)" behind it; nothing for what the agents' own fork() gives (omp/FORMAT.md I1,
  /// I3).
  std::optional<std::string> title;
};
/// The source must be refreshed to its index; only its state now is read. Errors: stale when it changed meanwhile,
/// read_only (a log that is never written to is not copied either), io, no_space.
Result<LogPlace> write_fork(Catalog& catalog, const Session& source, const ForkPlan& plan, bool sync);

}  // namespace arborfs
