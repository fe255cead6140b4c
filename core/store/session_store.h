// A place where an agent keeps sessions. One implementation per format; core/formats/registry.cc has the list of them,
// so that a new format is a folder and a row there. A mount may have several stores (store_set.h). Thread-safe. Only
// the Writer (core/writer/writer.h) writes through it: it serialises the writers of one process.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/log/log_index.h"
#include "core/log/log_source.h"
#include "core/os/file.h"
#include "core/store/blob_store.h"
#include "core/store/finding.h"
#include "core/store/format.h"
#include "core/store/live_signs.h"
#include "core/store/log_writer.h"
#include "core/store/shown_files.h"

namespace arborfs {

class PromptHistory;  // prompt_history.h

/// The folder name of logs that are directly in the sessions folder.
inline constexpr std::string_view kSessionsItself = ".";
/// In place of a folder's name: all of a store (Catalog::submounts).
inline constexpr std::string_view kWholeStore = "";

inline constexpr mode_t kAnyPermissions = 0777;

/// The path of a folder of logs.
std::string folder_path(const std::string& sessions, const std::string& folder);

/// A folder of logs. Names are those on disk.
struct LogFolder {
  std::uint8_t store = 0;  // its number among the stores of a mount (store_set.h)
  std::string name;        // below the sessions folder, or kSessionsItself
  auto operator<=>(const LogFolder&) const = default;
};

/// The place of one log. Names are those on disk; they never come from inside a log. A store neither sets nor reads its
/// own number.
struct LogPlace {
  std::string folder;  // as LogFolder::name
  std::string file;
  std::uint8_t store = 0;  // as LogFolder::store
  /// <name>
  [[nodiscard]] std::string_view stem() const { return std::string_view(file).substr(0, file.rfind('.')); }
  /// The id in a name such as <time>_<id>, of a log whose header may be lost; else the whole stem.
  [[nodiscard]] std::string_view id_in_name() const { return stem().substr(stem().rfind('_') + 1); }
  [[nodiscard]] LogFolder in() const { return {store, folder}; }
  /// True if the names are equal, whatever the stores are.
  [[nodiscard]] bool has_names_of(const LogPlace& other) const { return folder == other.folder && file == other.file; }
  bool operator==(const LogPlace&) const = default;
  /// By store, folder and file.
  std::strong_ordering operator<=>(const LogPlace& other) const {
    return std::tie(store, folder, file) <=> std::tie(other.store, other.folder, other.file);
  }
};

/// The head of a log when it was read.
struct FoundHead {
  Header header;
  std::int64_t read_ns = 0;  // when reading began, ns since 1970
};

/// What a listing found under the name of a log.
struct FoundLog {
  LogPlace place;
  FileStat stat;
  std::optional<FoundHead> head;
  bool is_linked = false;     // a symbolic link leads to it, so its folder's events do not show all its changes
  std::string left_out = {};  // why it is no session, in words that are the same for all of a kind; "" for a session
};

/// A file with the name of a log, or a folder of logs, that is no session.
struct LeftOut {
  std::uint8_t store = 0;  // as LogFolder::store
  std::string path;
  std::string reason;  // as FoundLog::left_out
};

/// Selects the logs whose heads a caller needs too; empty for none. Two threads may call it at once.
using HeadWanted = std::function<bool(const LogPlace& place)>;

/// The session that a terminal used last (omp/FORMAT.md F9). The log may not exist.
struct Breadcrumb {
  std::string terminal;  // file name below terminal-sessions/
  std::string cwd;
  std::string log_path;  // as written there, absolute
  LogPlace place;        // of the session, "" if it is outside the store
};

/// The stat of a log in an open folder, or of what a link there leads to. Errors: not_found, permission, io; corrupt if
/// it is not a regular file; those of end_of_link (core/os/links.h).
Result<FileStat> stat_log(const Dir& folder, const std::string& file);

/// A directory whose events concern the logs of a folder.
struct WatchedDir {
  std::string path;
  std::string folder;          // of the logs, as in LogPlace
  bool leads_to_logs = false;  // it holds directories, not files of logs: any change in it may bring or take logs
};

/// Paths on disk, for messages and for the watcher.
struct StorePaths {
  std::string agent_dir;
  std::string sessions;
  std::string blobs;
  std::string terminals;
};

class SessionStore {
 public:
  virtual ~SessionStore() = default;
  [[nodiscard]] virtual const Format& format() const = 0;
  /// The format of one session, if the agent's versions write several formats.
  [[nodiscard]] virtual const Format& format_of(const LogPlace& /*place*/) const { return format(); }
  /// The format of the agent that a log with this header belongs to, if the store's folders contain logs of several
  /// agents that are read in the same way; null if the header does not say.
  [[nodiscard]] virtual const Format* owner_of(const Header& /*header*/) const { return nullptr; }
  [[nodiscard]] virtual const StorePaths& paths() const = 0;
  /// The name in folder(place) of the file that the agent appends the session's records to.
  [[nodiscard]] virtual std::string file_of(const LogPlace& place) const { return place.file; }
  /// The log's path on disk, for messages.
  [[nodiscard]] virtual std::string path_of(const LogPlace& place) const {
    return folder_path(paths().sessions, place.folder) + "/" + file_of(place);
  }
  /// The directories to watch for changes of logs; cheap enough to be asked for twice a second. By default those of the
  /// folders, none if they cannot be listed.
  [[nodiscard]] virtual std::vector<WatchedDir> watched() const;
  /// The log that changes with a file of this name in a watched directory of a folder; nothing for a file that is part
  /// of no log.
  [[nodiscard]] virtual std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const {
    return is_log_name(file) ? std::optional(LogPlace{folder, file}) : std::nullopt;
  }
  /// True if a change can be read only some milliseconds after its event. SQLite writes a commit to the -wal, which
  /// causes an event, and only then to the shared memory, which causes none.
  [[nodiscard]] virtual bool changes_show_late() const { return false; }
  /// The disk through which it is written; data that is kept elsewhere for it uses the same disk.
  [[nodiscard]] virtual Disk& disk() const = 0;
  /// False while the sessions folder does not exist; checked again on each call.
  [[nodiscard]] virtual bool present() const = 0;
  /// The folders of logs, in byte order, and links that lead to no folder: logs() says why they have no logs.
  [[nodiscard]] virtual Result<std::vector<std::string>> folders() const = 0;
  /// False for the name of a folder, below the sessions folder, that never holds logs.
  [[nodiscard]] virtual bool may_have_logs(std::string_view /*folder*/) const { return true; }
  /// True for a file name that logs of this store have. False for all names if its sessions are not files.
  [[nodiscard]] virtual bool is_log_name(std::string_view /*file*/) const { return false; }
  /// Every log of a folder, in byte order. Links are followed. Whatever else has the name of a log, or nearly, is there
  /// with the reason why it is no session (FoundLog::left_out); dot files and other endings are not. Wanted heads are
  /// read while the folder is open, which takes a third of the calls needed one log at a time. Heads that cannot be
  /// read are left out, and all heads in a store where that would gain nothing.
  [[nodiscard]] virtual Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                           const HeadWanted& wants_head) const = 0;
  [[nodiscard]] virtual Result<FileStat> stat(const LogPlace& place) const = 0;
  /// The same for a caller that has folder(place) open.
  [[nodiscard]] virtual Result<FileStat> stat_in(const Dir& folder, const LogPlace& place) const {
    return stat_log(folder, place.file);
  }
  [[nodiscard]] virtual Result<std::shared_ptr<const LogSource>> open(const LogPlace& place) const = 0;
  /// The session's header, for a listing. By default the log is opened and its header is read. Errors: as open, io.
  [[nodiscard]] virtual Result<Header> header(const LogPlace& place) const;
  /// True if the session's own name is a symbolic link, which no write may replace.
  [[nodiscard]] virtual bool is_link(const LogPlace& place) const;
  /// The folder that holds the log, for access to other files there or to many of its logs.
  [[nodiscard]] virtual Result<Dir> folder(const LogPlace& place) const = 0;
  /// The agent's files next to the log (omp/FORMAT.md F6). Errors: not_found if there are none.
  [[nodiscard]] virtual Result<Dir> artifacts(const LogPlace& place) const = 0;
  /// The states of working files that the agent saved for the session (CONTRACT.md 2.8). Errors: not_found if there are
  /// none.
  [[nodiscard]] virtual Result<std::unique_ptr<const ShownFiles>> checkpoints(const LogPlace& /*place*/) const {
    return Error{Errc::not_found, "the session has no checkpoints"};
  }
  /// The files or rows behind the session as the agent keeps them, without secrets (CONTRACT.md 2.10). Cheap; `this`
  /// outlives the result. Errors: not_found if the mount does not show them.
  [[nodiscard]] virtual Result<std::unique_ptr<const ShownFiles>> native_files(const LogPlace& /*place*/) const {
    return Error{Errc::not_found, "the log is all that the agent keeps of the session"};
  }
  /// The file that the agent appends the session's records to; the caller has folder(place) open. Errors: as
  /// File::follow_in.
  [[nodiscard]] virtual Result<File> open_file(const Dir& folder, const LogPlace& place) const {
    return File::follow_in(folder, file_of(place));
  }
  /// The present signs of the agent's programs for their sessions; null if there are none. `is_running`: one of them
  /// runs (Format::programs).
  [[nodiscard]] virtual std::unique_ptr<const LiveSigns> live_signs(bool /*is_running*/) const { return nullptr; }
  /// Faults of a session that its records do not show: missing files that it needs, records that are not part of its
  /// bytes. May take long; for the doctor.
  [[nodiscard]] virtual std::vector<Finding> faults_of(const LogPlace& /*place*/) const { return {}; }
  /// Faults of the store's other files, and leftovers of interrupted writes. May take long.
  [[nodiscard]] virtual std::vector<FileFinding> faults() const { return {}; }
  [[nodiscard]] virtual std::vector<Breadcrumb> breadcrumbs() const = 0;
  /// The prompts that were typed to the agent; null if it does not keep them apart from its sessions.
  [[nodiscard]] virtual PromptHistory* prompt_history() const { return nullptr; }
  /// The file next to a log by which its agent locks it; "" if there is no such file.
  [[nodiscard]] virtual std::string lock_file_name(const std::string& /*file*/) const { return ""; }
  /// The process that the lock file names; 0 if there is none.
  [[nodiscard]] virtual long lock_holder(const Dir& /*folder*/, const std::string& /*file*/) const { return 0; }
  [[nodiscard]] virtual const std::shared_ptr<BlobStore>& blobs() const = 0;

  /// Takes the log's lock. Errors: busy if another writer holds it for longer than the wait; not_found, permission, io.
  [[nodiscard]] virtual Result<std::unique_ptr<LogWriter>> writer(const LogPlace& place) = 0;
  /// Begins a new log that will be at `place`; makes its folder if missing. It has the permissions that the agent's
  /// logs have, except those that are not in `permissions`.
  [[nodiscard]] virtual Result<std::unique_ptr<LogDraft>> draft(const LogPlace& place, mode_t permissions) = 0;
  /// Begins one that will replace the log at `place`, with its attributes (core/os/file_attributes.h), and that will be
  /// at `to`, whose folder it makes if missing. Errors also: not_found, not_permitted.
  [[nodiscard]] virtual Result<std::unique_ptr<LogDraft>> redraft(const LogPlace& place, const LogPlace& to) = 0;
  /// Moves a finished draft to its intended place. Errors: already_exists, io.
  virtual Result<void> publish(LogDraft& draft, const LogPlace& place, Disk::Existing existing, bool sync) = 0;
  /// Renames a log with its artifacts and the backups that agents left (`<log>.<id>.bak`, which agents would restore
  /// again, F9); the caller holds the lock and syncs both folders. Errors: already_exists, io; everything is renamed
  /// back then.
  virtual Result<void> move(const LogPlace& from, const LogPlace& to) = 0;
};

/// Errors: unsupported if the session's own name is a symbolic link: a rewrite or a removal would take the link and not
/// the log.
Result<void> check_no_link(const SessionStore& store, const LogPlace& place);

/// A store in the folder of another one of its agent.
struct BesideStore {
  std::string place;  // its file or folder
  std::shared_ptr<SessionStore> store;
};

}  // namespace arborfs
