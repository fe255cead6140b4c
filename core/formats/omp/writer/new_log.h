// Creates logs: empty ones and forks, as the agents write them (omp/FORMAT.md F3, F4, I1 to I4). A log gets its name
// only when it is complete. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/omp/write/entry_draft.h"
#include "core/formats/omp/write/header_text.h"
#include "core/session/catalog.h"

namespace arborfs {

/// The folder of a store where the agent looks for the sessions of a working directory (omp/FORMAT.md F4,
/// pi/FORMAT.md A2).
std::string folder_for(const std::string& cwd, Dialect dialect, const Catalog& catalog, std::uint8_t store);
/// The same for a log that is copied or moved from `from`: a log directly in the sessions folder stays there.
std::string folder_for(const std::string& cwd, Dialect dialect, const Catalog& catalog, const LogPlace& from);
/// `cwd` with links resolved as far as it exists (omp/FORMAT.md F4). Errors: invalid_argument if it is not absolute.
Result<std::string> resolved_cwd(const std::string& cwd);

/// Writes a log of this header and these entries, each a child of the previous one, in the store with this number.
/// Errors: io, no_space, already_exists.
Result<LogPlace> write_new_log(Catalog& catalog, std::uint8_t store, NewHeader header,
                               const std::vector<EntryDraft>& entries, bool sync);

/// Writes a log of this header and these lines at a place, with `permissions` as in LogFiles::draft. Errors: as
/// above.
Result<LogPlace> write_new_log(Catalog& catalog, const LogPlace& place, const NewHeader& header, std::string_view lines,
                               mode_t permissions, bool sync);

/// The part of its source that a fork copies.
enum class ForkOf : std::uint8_t {
  all,   // fork(): every entry of every branch (omp/FORMAT.md I1)
  path,  // createBranchedSession(): the path to one entry; labels become new entries at its end (omp/FORMAT.md I3)
};
struct ForkPlan {
  ForkOf what = ForkOf::all;
  Ordinal leaf = kNoEntry;         // the last entry of the path (ForkOf::path)
  std::optional<std::string> cwd;  // if other than the source's
  /// "" for the source's title followed by " (fork)"; not set for the title that the agents' own fork() gives
  /// (omp/FORMAT.md I1, I3).
  std::optional<std::string> title;
};
/// The fork is in the store of its source. The caller must have refreshed the source to Depth::index; only its present
/// state is read. Errors: stale if it changed meanwhile, read_only (a log that is never written to is not copied
/// either), io, no_space.
Result<LogPlace> write_fork(Catalog& catalog, const Session& source, const ForkPlan& plan, bool sync);

}  // namespace arborfs
