// Changes through shell verbs and control files, as operations on node ids without the kernel's side (CONTRACT.md 4).
// Everything that is not listed here is not_permitted and never reaches the store: no editor's swap file, no temporary,
// no copy.
//
// Any thread. All may take long, as they wait for locks and disks, so a RequestContext must be one of the worker pool.
// No lock is held on return.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/control/control_file.h"
#include "fs/nodes/vfs.h"

namespace arborfs {

/// `rm -r` of a session. rm removes a folder from the inside, file by file, but a session can only be removed as a
/// whole: so with -o allow_delete an unlink inside a session succeeds without effect, and the rmdir of the session
/// itself moves it to the trash; without the option both are refused. In labels/ an unlink has an effect of its own, it
/// clears a label; that must not happen during `rm -r`, with or without the option. labels/ is listed last in a
/// session, and a process that has tried to unlink anything else in the session within kMemory is removing it. The same
/// holds for the sessions in its children/, if they are removed with it: then their rmdir has no effect of its own
/// either.
///
/// Thread-safe; mutex_ is a leaf.
class RecursiveRemoves {
 public:
  static constexpr std::chrono::minutes kMemory{1};

  /// The thread `client` tried to unlink something in a session other than a label.
  void note(pid_t client, std::uint32_t session);
  /// True if the process of `client` is removing the session; then restarts kMemory.
  bool is_at_work(pid_t client, std::uint32_t session);
  /// The session was removed, or the removal was refused: no process is removing it any more.
  void forget(std::uint32_t session);

 private:
  static constexpr std::size_t kMost = 1024;
  using Clock = std::chrono::steady_clock;
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // session, identity of the process
  std::mutex mutex_;
  std::map<Key, Clock::time_point> last_;  // guarded by mutex_
};

/// The flags of rename(2).
enum class RenameMode { replace, no_replace, exchange };

/// A name in a folder.
struct NameIn {
  NodeId folder;
  std::string name;
};

/// A spelling of an entry that the Writer resolves to this entry only, even if the log is rewritten meanwhile.
std::string spelled_entry(const LogIndex& index, Ordinal ordinal);

class WriteOps {
 public:
  /// All outlive it. `mountpoint` as in MountSettings.
  WriteOps(Vfs& vfs, Writer& writer, InvalidationQueue& queue, std::string mountpoint);

  [[nodiscard]] static bool is_control(NodeId node);
  /// The control files, and the views with a verb's name, which become control files when they are opened for writing.
  [[nodiscard]] static bool takes_writes(NodeId node);

  /// `client` is the thread that opens. Errors: those of finding the session; interrupted (deferred).
  Result<ControlFilePtr> open_control(RequestContext& call, NodeId node, pid_t client, bool adds = false);

  /// A new link in labels/: sets a label on the entry that the last part of `target` names. Errors: not_permitted
  /// elsewhere, already_exists, not_found (no such entry), invalid_argument (a name that cannot be used for a label).
  Result<Found> symlink(RequestContext& call, const NameIn& at, std::string_view target);
  /// In labels/ clears a label; elsewhere see RecursiveRemoves.
  Result<void> unlink(RequestContext& call, const NameIn& at, pid_t client);
  /// Moves a session in a project or in children/ to the trash. Errors: not_permitted unless mounted with allow_delete,
  /// and for other folders.
  Result<void> rmdir(RequestContext& call, const NameIn& at, pid_t client);
  /// Renames a label within labels/, or moves a session to another project, keeping its name.
  Result<void> rename(RequestContext& call, const NameIn& from, const NameIn& to, RenameMode mode);

  /// The folders that the kernel keeps locked during an operation on these names; see InvalidationQueue::hold.
  std::vector<NodeId> held_folders(const std::vector<NameIn>& names);

  [[nodiscard]] InvalidationQueue& invalidations() const { return writes_.invalidations(); }

 private:
  struct LabelAt {
    SessionPtr session;
    std::string target;  // spelled_entry() of the label's entry; "" if there is no such label
  };
  Result<LabelAt> label_at(RequestContext& call, const NameIn& at);
  static Result<LabelChange> label_wanted(const LabelAt& here, const std::string& name, std::string_view target);
  Result<void> rename_label(RequestContext& call, const NameIn& from, const NameIn& to, RenameMode mode);
  Result<void> remove_inside(NodeId folder, pid_t client);
  Result<void> move_session(const NameIn& from, const NameIn& to);
  [[nodiscard]] bool allows_delete() const { return writes_.writer().settings().allow_delete; }
  [[nodiscard]] bool is_inside_session(NodeId folder) const;
  [[nodiscard]] SessionPtr session_at(const NameIn& at) const;
  [[nodiscard]] bool goes_with_starter(NodeId children, pid_t client);

  Vfs& vfs_;
  WriteBarrier writes_;
  OpenControls open_;
  RecursiveRemoves removals_;
  const std::string mountpoint_;
};

}  // namespace arborfs
