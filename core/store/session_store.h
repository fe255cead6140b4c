// A place where an agent keeps sessions. One implementation a format; registry.cc holds the one list of them, so that
// a new format is a folder and a row there. Thread-safe. Only the Writer (core/writer/writer.h)
// writes through it: it serialises the writers of one process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/log/log_file.h"
#include "core/log/log_index.h"
#include "core/os/file.h"
#include "core/store/blob_store.h"
#include "core/store/log_writer.h"

namespace arborfs {

/// Where one log lies. Names are those on disk; they never come from inside a log.
struct LogPlace {
  std::string folder;  // below the sessions folder
  std::string file;    // <name>.jsonl
  /// <name>
  [[nodiscard]] std::string_view stem() const { return std::string_view(file).substr(0, file.rfind('.')); }
  auto operator<=>(const LogPlace&) const = default;
};

/// What the head of a log said when it was read.
struct FoundHead {
  Header header;
  std::int64_t read_ns = 0;  // when reading began, ns since 1970
};

struct FoundLog {
  LogPlace place;
  FileStat stat;
  std::optional<FoundHead> head;
};

/// Which logs' heads a caller wants beside their places; empty for none.
using HeadWanted = std::function<bool(const LogPlace& place)>;

/// What a terminal used last (omp/FORMAT.md F9). The log may not exist.
struct Breadcrumb {
  std::string terminal;  // file name below terminal-sessions/
  std::string cwd;
  std::string log_path;  // as written there, absolute
  LogPlace place;        // of the session meant, "" when it is outside the store
};

/// The log of this name in an open folder. Errors: not_found, permission, io; corrupt when it is no regular file.
Result<FileStat> stat_log(const Dir& folder, const std::string& file);

/// Where things lie on disk, for messages and for the watcher.
struct StorePaths {
  std::string agent_dir;
  std::string sessions;
  std::string blobs;
  std::string terminals;
};

class SessionStore {
 public:
  virtual ~SessionStore() = default;
  [[nodiscard]] virtual std::string_view format() const = 0;
  [[nodiscard]] virtual const StorePaths& paths() const = 0;
  /// What it is written through; what is kept elsewhere for it goes the same way.
  [[nodiscard]] virtual Disk& disk() const = 0;
  /// False while the sessions folder does not exist; looked up afresh at each call.
  [[nodiscard]] virtual bool present() const = 0;
  /// The folders of logs, in byte order.
  [[nodiscard]] virtual Result<std::vector<std::string>> folders() const = 0;
  /// Every log of a folder, in byte order; links, folders, FIFOs, dot files and other endings are left out
  /// (omp/FORMAT.md F7). Heads that are wanted are read while the folder is open, which takes a third of the calls that
  /// it takes one log at a time; one that cannot be read, and any where that would gain nothing, is left out.
  [[nodiscard]] virtual Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                           const HeadWanted& wants_head) const = 0;
  [[nodiscard]] virtual Result<FileStat> stat(const LogPlace& place) const = 0;
  [[nodiscard]] virtual Result<std::shared_ptr<const LogFile>> open(const LogPlace& place) const = 0;
  /// The folder that holds the log, for looking at what else is there, or at many logs of it.
  [[nodiscard]] virtual Result<Dir> folder(const LogPlace& place) const = 0;
  /// The agent's files beside the log (omp/FORMAT.md F6); not_found when there are none.
  [[nodiscard]] virtual Result<Dir> artifacts(const LogPlace& place) const = 0;
  [[nodiscard]] virtual std::vector<Breadcrumb> breadcrumbs() const = 0;
  [[nodiscard]] virtual const std::shared_ptr<BlobStore>& blobs() const = 0;

  /// Takes the log's lock. Errors: busy when somebody else holds it past the wait; not_found, permission, io.
  [[nodiscard]] virtual Result<std::unique_ptr<LogWriter>> writer(const LogPlace& place) = 0;
  /// Begins a log that is to lie in `folder` (made if missing) under `file`.
  [[nodiscard]] virtual Result<std::unique_ptr<LogDraft>> draft(const LogPlace& place) = 0;
  /// Begins one that is to take the place of the log that lies there; makes no folder. Errors also: not_found.
  [[nodiscard]] virtual Result<std::unique_ptr<LogDraft>> redraft(const LogPlace& place) = 0;
  /// Gives a finished draft the place that it was begun for. Errors: already_exists, io.
  virtual Result<void> publish(LogDraft& draft, const LogPlace& place, Disk::Existing existing, bool sync) = 0;
  /// Renames a log, and with it its artifacts and the backups that agents left (`<log>.<id>.bak`, which they would
  /// bring to life again, F9); the lock is the caller's, and so is syncing both folders. Errors: already_exists, io;
  /// then everything is where it was.
  virtual Result<void> move(const LogPlace& from, const LogPlace& to) = 0;
  /// Renames a log, with what lies beside it, into the folder `trash`; the lock is the caller's. Errors: io, no_space,
  /// unsupported when the trash is on another file system; then everything is where it was.
  virtual Result<void> remove(const LogPlace& place, const Dir& trash) = 0;
};

/// Opens the store of an agent dir; "" means the user's own ($PI_CODING_AGENT_DIR, else ~/.omp/agent with the XDG rule
/// of omp/FORMAT.md D1). A missing folder is no error: it is picked up when it appears (CONTRACT.md 7.8).
/// `disk` is what is written through; it outlives the store.
std::shared_ptr<SessionStore> open_store(const std::string& agent_dir, Disk& disk = Disk::real());
/// The agent dir that "" stands for.
std::string default_agent_dir();

}  // namespace arborfs
