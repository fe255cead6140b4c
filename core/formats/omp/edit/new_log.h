// Creates logs: empty ones and forks, as the agents write them (omp/FORMAT.md F3, F4, I1 to I4), and adopted ones, in
// the store and the format that fit: omp and pi would each misread the other's logs. A log gets its name only when it
// is complete. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/omp/edit/entry_draft.h"
#include "core/formats/omp/edit/header_text.h"
#include "core/formats/omp/log/dialect.h"
#include "core/session/catalog.h"
#include "core/write/conversation.h"

namespace arborfs::omp {

/// Checks from the logs of a store whether it accepts logs of omp. Errors: read_only if it has logs of pi and none of
/// omp, or if it is pi's and empty. Only the most recently changed logs are examined.
Result<void> check_takes_logs(const Catalog& catalog, std::uint8_t store);

struct NewLogs {
  std::uint8_t store = 0;
  Dialect dialect = Dialect::omp13;
};
/// For "omp" the first store of omp, if it accepts logs; for "pi" that of pi, a session dir before an agent dir, as pi
/// does (pi/FORMAT.md A2), or a store of omp with logs of pi. For "" the store of omp or of pi, depending on whose logs
/// exist, or that of pi if omp has no folder. Errors: read_only.
Result<NewLogs> store_for_new_logs(const Catalog& catalog, std::string_view agent);

/// The folder of a store where the agent looks for the sessions of a working directory (omp/FORMAT.md F4,
/// pi/FORMAT.md A2).
std::string folder_for(const std::string& cwd, Dialect dialect, const Catalog& catalog, std::uint8_t store);
/// The same for a log that is copied or moved from `from`: a log directly in the sessions folder stays there.
std::string folder_for(const std::string& cwd, Dialect dialect, const Catalog& catalog, const LogPlace& from);
/// `cwd` with links resolved as far as it exists (omp/FORMAT.md F4). Errors: invalid_argument if it is not absolute.
Result<std::string> resolved_cwd(const std::string& cwd);

/// Writes a log of this header and these entries, each a child of the previous one, in the store with this number, with
/// `permissions` as in LogFiles::draft. Errors: io, no_space, already_exists.
Result<LogPlace> write_new_log(Catalog& catalog, std::uint8_t store, const NewHeader& header,
                               const std::vector<EntryDraft>& entries, bool sync, mode_t permissions = kAnyPermissions);

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

/// Writes a conversation of another agent. Both agents read the same lines (omp/FORMAT.md P1); the first entry names
/// the source. Errors: invalid_argument if the working directory is not absolute; those of write_new_log.
Result<LogPlace> write_adopted_log(Catalog& catalog, const NewLogs& where, const Conversation& conversation, bool sync);

}  // namespace arborfs::omp
