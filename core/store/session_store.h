// A place where an agent keeps sessions. One implementation a format; registry.cc holds the one list of them, so that
// a new format is a folder and a row there. Implementations only read. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/env/file.h"
#include "core/log/log_file.h"

namespace arborfs {

/// Where one log lies. Names are those on disk; they never come from inside a log.
struct LogPlace {
  std::string folder;  // below the sessions folder
  std::string file;    // <name>.jsonl
  auto operator<=>(const LogPlace&) const = default;
};

struct FoundLog {
  LogPlace place;
  FileStat stat;
};

/// What a terminal used last (FACTS F9). The log may not exist.
struct Breadcrumb {
  std::string terminal;  // file name below terminal-sessions/
  std::string cwd;
  std::string log_path;  // as written there, absolute
  LogPlace place;        // of the session meant, "" when it is outside the store
};

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
  /// False while the sessions folder does not exist; looked up afresh at each call.
  [[nodiscard]] virtual bool present() const = 0;
  /// The folders of logs, in byte order.
  [[nodiscard]] virtual Result<std::vector<std::string>> folders() const = 0;
  /// Every log of a folder, in byte order; links, folders, FIFOs, dot files and other endings are left out (FACTS F7).
  [[nodiscard]] virtual Result<std::vector<FoundLog>> logs(const std::string& folder) const = 0;
  [[nodiscard]] virtual Result<FileStat> stat(const LogPlace& place) const = 0;
  [[nodiscard]] virtual Result<std::shared_ptr<const LogFile>> open(const LogPlace& place) const = 0;
  /// The folder that holds the log, for looking at its lock file.
  [[nodiscard]] virtual Result<Dir> folder(const LogPlace& place) const = 0;
  /// The agent's files beside the log (FACTS F6); not_found when there are none.
  [[nodiscard]] virtual Result<Dir> artifacts(const LogPlace& place) const = 0;
  [[nodiscard]] virtual std::vector<Breadcrumb> breadcrumbs() const = 0;
};

/// Opens the store of an agent dir; "" means the user's own ($PI_CODING_AGENT_DIR, else ~/.omp/agent with the XDG rule
/// of FACTS D1). A missing folder is no error: it is picked up when it appears (DESIGN 7).
std::shared_ptr<SessionStore> open_store(const std::string& agent_dir);
/// The agent dir that "" stands for.
std::string default_agent_dir();

}  // namespace arborfs
