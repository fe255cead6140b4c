// A place where an agent keeps sessions. One implementation per format; core/formats/registry.cc has the list of them,
// so that a new format is a folder and a row there. A mount may have several stores (store_set.h). Thread-safe.
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
#include <utility>
#include <vector>

#include "core/log/log_index.h"
#include "core/log/log_source.h"
#include "core/os/file.h"
#include "core/store/blob_store.h"
#include "core/store/format.h"

namespace arborfs {

class LogRedaction;   // core/log/redacted_log.h
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

/// For reading. What only some stores have is in store_parts.h; what writes to a format's logs is in its Editor
/// (core/write/commit.h). Where nothing else is said, the functions are for a store whose logs are files.
class Store {
 public:
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  [[nodiscard]] const Format& format() const { return format_; }
  [[nodiscard]] const StorePaths& paths() const { return paths_; }
  /// The disk through which it is written; data that is kept elsewhere for it uses the same disk.
  [[nodiscard]] Disk& disk() const { return disk_; }
  /// Room on its file system for commands that are not complete yet.
  [[nodiscard]] KeptRooms& rooms() const { return rooms_; }
  [[nodiscard]] const std::shared_ptr<BlobStore>& blobs() const { return blobs_; }
  /// The prompts that were typed to the agent; null if it does not keep them apart from its sessions.
  [[nodiscard]] PromptHistory* prompt_history() const { return prompts_.get(); }

  /// How secrets are taken out of all that is shown of the store (redacted_store.h); null if they are not.
  [[nodiscard]] virtual const LogRedaction* redaction() const { return nullptr; }

  /// The format of one session, if the agent's versions write several formats.
  [[nodiscard]] virtual const Format& format_of(const LogPlace& /*place*/) const { return format_; }
  /// The format of the agent that a log with this header belongs to, if the store's folders contain logs of several
  /// agents that are read in the same way; null if the header does not say.
  [[nodiscard]] virtual const Format* owner_of(const Header& /*header*/) const { return nullptr; }

  /// False while the sessions folder does not exist; checked again on each call.
  [[nodiscard]] virtual bool present() const { return Dir::open_root(paths_.sessions).has_value(); }
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

  /// The folder that holds the log, for access to other files there or to many of its logs.
  [[nodiscard]] virtual Result<Dir> folder(const LogPlace& place) const = 0;
  /// `in`: folder(place), from a caller that has it open.
  [[nodiscard]] virtual Result<FileStat> stat(const LogPlace& place, const Dir* in = nullptr) const;
  /// The store outlives the result.
  [[nodiscard]] virtual Result<std::shared_ptr<const LogSource>> open(const LogPlace& place) const;
  /// The session's header, for a listing. By default the log is opened and its header is read. Errors: as open, io.
  [[nodiscard]] virtual Result<Header> header(const LogPlace& place) const;
  /// True if the session's own name is a symbolic link, which no write may replace.
  [[nodiscard]] virtual bool is_link(const LogPlace& place) const;
  /// The log's path on disk, for messages.
  [[nodiscard]] virtual std::string path_of(const LogPlace& place) const;
  /// The file that the agent appends the session's records to; `in` is folder(place). Errors: as File::follow_in.
  [[nodiscard]] virtual Result<File> open_file(const Dir& in, const LogPlace& place) const;

  /// The directories to watch for changes of logs; cheap enough to be asked for twice a second. By default those of the
  /// folders, none if they cannot be listed.
  [[nodiscard]] virtual std::vector<WatchedDir> watched() const;
  /// The log that changes with a file of this name in a watched directory of a folder; nothing for a file that is part
  /// of no log.
  [[nodiscard]] virtual std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const {
    return is_log_name(file) ? std::optional(LogPlace{folder, file}) : std::nullopt;
  }

 protected:
  /// `format` and `disk` outlive the store.
  Store(const Format& format, StorePaths paths, Disk& disk, std::shared_ptr<BlobStore> blobs = make_no_blobs(),
        std::shared_ptr<PromptHistory> prompts = nullptr)
      : format_(format),
        paths_(std::move(paths)),
        disk_(disk),
        rooms_(disk),
        blobs_(std::move(blobs)),
        prompts_(std::move(prompts)) {}

 private:
  const Format& format_;
  const StorePaths paths_;
  Disk& disk_;
  mutable KeptRooms rooms_;
  const std::shared_ptr<BlobStore> blobs_;
  const std::shared_ptr<PromptHistory> prompts_;
};

/// Errors: unsupported if the session's own name is a symbolic link: a rewrite or a removal would take the link and not
/// the log.
Result<void> check_no_link(const Store& store, const LogPlace& place);

/// A store in the folder of another one of its agent.
struct BesideStore {
  std::string place;  // its file or folder
  std::shared_ptr<Store> store;
};

}  // namespace arborfs
