// What only some stores have. Such a store derives from the interface too; part_of() finds it. The functions called
// …_of are for callers to whom a store without the part is as one that has nothing there. Thread-safe; a store outlives
// what it returns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/effect.h"
#include "core/store/finding.h"
#include "core/store/store.h"
#include "core/store/stored_files.h"

namespace arborfs {

/// Null if the store does not have the part.
template <class Part>
const Part* part_of(const Store& store) {
  return dynamic_cast<const Part*>(&store);
}

/// The agent's files next to a log (omp/FORMAT.md F6). Errors: not_found if there are none.
struct HasArtifacts {
  virtual ~HasArtifacts() = default;
  [[nodiscard]] virtual Result<Dir> artifacts(const LogPlace& place) const = 0;
};
Result<Dir> artifacts_of(const Store& store, const LogPlace& place);

using ShownFilesPtr = std::unique_ptr<const ShownFiles>;

/// The states of working files that the agent saved for a session (CONTRACT.md 2.8). Errors: not_found if there are
/// none.
struct HasCheckpoints {
  virtual ~HasCheckpoints() = default;
  [[nodiscard]] virtual Result<ShownFilesPtr> checkpoints(const LogPlace& place) const = 0;
};
Result<ShownFilesPtr> checkpoints_of(const Store& store, const LogPlace& place);

/// The files or rows behind a session as the agent keeps them, without secrets (CONTRACT.md 2.10). Cheap. Errors:
/// not_found if the log is all that the agent keeps of the session.
struct HasNativeFiles {
  virtual ~HasNativeFiles() = default;
  [[nodiscard]] virtual Result<ShownFilesPtr> native_files(const LogPlace& place) const = 0;
};
Result<ShownFilesPtr> native_files_of(const Store& store, const LogPlace& place);

/// The session that a terminal used last (omp/FORMAT.md F9). The log may not exist.
struct Breadcrumb {
  std::string terminal;  // file name below terminal-sessions/
  std::string cwd;
  std::string log_path;  // as written there, absolute
  LogPlace place;        // of the session, "" if it is outside the store
};

struct HasBreadcrumbs {
  virtual ~HasBreadcrumbs() = default;
  [[nodiscard]] virtual std::vector<Breadcrumb> breadcrumbs() const = 0;
};
std::vector<Breadcrumb> breadcrumbs_of(const Store& store);

/// Files next to logs by which the agent locks them.
struct HasLockFiles {
  virtual ~HasLockFiles() = default;
  [[nodiscard]] virtual std::string lock_file_name(const std::string& file) const = 0;
  /// The process that the lock file names; 0 if there is none.
  [[nodiscard]] virtual long lock_holder(const Dir& folder, const std::string& file) const = 0;
};

/// The signs that an agent itself leaves for the sessions that it has loaded, at one moment. The store outlives it.
class LiveSigns {
 public:
  virtual ~LiveSigns() = default;
  LiveSigns() = default;
  LiveSigns(const LiveSigns&) = delete;
  LiveSigns& operator=(const LiveSigns&) = delete;

  /// Why a program has the session loaded, in words; empty if there is no sign of it.
  [[nodiscard]] virtual std::vector<std::string> of(const LogPlace& place) const = 0;
  /// The same for a caller that holds the log's lock. Does not wait: a lock that another program holds only for one
  /// write counts too.
  [[nodiscard]] virtual std::vector<std::string> under_lock(const LogPlace& place) const { return of(place); }
  /// True if the signs name the sessions that this process has loaded; it then has no others.
  [[nodiscard]] virtual bool tell_all_of(long /*pid*/) const { return false; }
};

/// Signs of the agent's programs for the sessions that they have loaded.
struct HasLiveSigns {
  virtual ~HasLiveSigns() = default;
  /// The present ones; null if there are none. `is_running`: a program of the agent runs (Format::programs).
  [[nodiscard]] virtual std::unique_ptr<const LiveSigns> live_signs(bool is_running) const = 0;
};

/// What an agent's own lists of sessions go by.
enum class Mark : std::uint8_t { archived, pinned };
/// As a file of the mount, and as a verb of a Format.
constexpr std::string_view mark_name(Mark mark) {
  return mark == Mark::archived ? "archived" : "pinned";
}

/// For an agent that keeps such marks. Cheap.
struct HasMarks {
  virtual ~HasMarks() = default;
  [[nodiscard]] virtual bool is_marked(const LogPlace& place, Mark mark) const = 0;
};
bool is_marked(const Store& store, const LogPlace& place, Mark mark);

/// For an agent that deletes old sessions by itself.
struct CanProtect {
  virtual ~CanProtect() = default;
  struct Protected {
    std::string words;            // what changed, as a sentence
    std::vector<Effect> effects;  // the same, so that it can be undone
  };
  /// Keeps a session from being deleted for the time that the agent gives to one that was just used. No byte of it
  /// changes. Errors: not_found, permission, those of the disk.
  virtual Result<Protected> protect(const LogPlace& place) const = 0;
  /// Makes the agent delete no session, by its own settings. Errors: corrupt, unsupported (settings that cannot be
  /// changed), those of the disk.
  virtual Result<Protected> protect_all() const = 0;
};

/// Faults that no records show, for the doctor. May take long.
struct HasFaults {
  virtual ~HasFaults() = default;
  /// Of the store's other files, and leftovers of interrupted writes.
  [[nodiscard]] virtual std::vector<FileFinding> faults() const = 0;
  /// Of a session: missing files that it needs, records that are not part of its bytes.
  [[nodiscard]] virtual std::vector<Finding> faults_of(const LogPlace& /*place*/) const { return {}; }
};
std::vector<FileFinding> faults_of(const Store& store);
std::vector<Finding> faults_of(const Store& store, const LogPlace& place);

}  // namespace arborfs
