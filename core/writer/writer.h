// The one door for writes to the sessions of a store: append, branch, label, title, fork, new, move, remove
// (CONTRACT.md 4 to 6). The mount's control files, its shell verbs and the command line all come through here.
//
// Each call returns when the change is on disk (unless Durability::none) and the session shows it; a call that fails
// leaves the log as it was, and no failure sticks. Commands that come for one session at the same time are written with
// one write(2) and one fdatasync (write_queue.h).
//
// Threads: any. Locks: see write_queue.h; none is held on return. Errors of all calls that change a session: busy
// (live, and neither forced nor mounted with live=write; or locked past the wait), read_only (a version above 3, a log
// without header), not_found (entry or session gone), stale (a condition failed, somebody else rewrote the log),
// no_space, over_quota, io.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/memory_budget.h"
#include "core/session/catalog.h"
#include "core/write/append_command.h"
#include "core/writer/disk_reservation.h"
#include "core/writer/log_rewrite.h"

namespace arborfs {

enum class Durability : std::uint8_t {
  synced,  // fdatasync before success
  none,    // left to the kernel
};

struct WriteSettings {
  Durability durability = Durability::synced;
  bool write_live = false;    // -o live=write: write to live sessions as if they were quiet
  bool allow_delete = false;  // -o allow_delete
  std::string mountpoint;     // of the mount that writes, which it must not look into; "" for none
  std::string trash;          // folder for removed sessions; "" for the user's own (trash.h)
};

/// Where an append goes.
struct AppendResult {
  std::string id;         // of the last entry written
  std::string parent_id;  // of the first one's parent, "" for a root
};

/// A leaf that was moved without writing to the log, and what was kept of it before.
struct LeafMove {
  KeptLeaf made;
  std::optional<KeptLeaf> before;
};

/// What `branch` left behind.
struct MovedLeaf {
  std::string leaf;              // id, or "root"
  std::string summary_id;        // of the branch_summary, "" without one
  std::string pin_id;            // of the entry that was written for the leaf's sake
  std::string agent_leaf;        // where agents go on until somebody appends, "" when that is the leaf
  std::optional<LeafMove> move;  // nothing when it wrote to the log
};

/// A session that was made, or moved.
struct CreateResult {
  SessionPtr session;
  std::string id;
  std::string path;  // projects/<project>/<session>
};

struct LabelChange {
  std::string target;  // an entry as people name it: id, unique prefix of 4 or more, #ordinal, label
  std::string label;   // "" clears
};

struct NewSession {
  std::string cwd;  // absolute
  std::string title;
  std::string parent_session;
  std::string model;  // provider/model, "" for none
};

class AppendBatch;
class WriteQueue;

class Writer {
 public:
  /// `catalog` outlives it.
  Writer(Catalog& catalog, WriteSettings settings);
  ~Writer();

  /// Cuts off what appends left in logs whose process was killed (CONTRACT.md 7.2), except where an agent may hold the
  /// session. To be called once when a process begins to write, behind the catalog's first look at the store.
  void take_back_parts();
  /// What a write would be refused for, as far as it can be told now: live, version, header, lock held by another, a
  /// log that cannot be opened for writing.
  [[nodiscard]] Result<void> check(const SessionPtr& session, bool force = false);
  /// Sets room aside on the session's disk until the reservation goes (CONTRACT.md 4.2). Errors: no_space, over_quota;
  /// too_large where the process may not let the log grow so far.
  [[nodiscard]] Result<DiskReservation> reserve(const SessionPtr& session, std::uint64_t bytes);

  /// Appends at the leaf, or at the entry `at` (any spelling of LabelChange::target), which becomes the leaf's parent
  /// in the same step.
  Result<AppendResult> append(const SessionPtr& session, AppendCommand command, const std::string& at = "");
  /// `target` as in LabelChange, or `root`. Without summary nothing is written to the log: the leaf is kept beside it
  /// until somebody appends, and agents, which know only the log, go on at its last entry. `pin` writes a `custom`
  /// entry there instead, which models never see. Errors also: invalid_argument for an entry with an unanswered tool
  /// call (F27; `force` overrides), or an ambiguous target.
  Result<MovedLeaf> branch(const SessionPtr& session, const std::string& target, const std::string& summary = "",
                           bool force = false, bool pin = false);
  /// What branch() would refuse the target for.
  Result<void> check_branch(const SessionPtr& session, const std::string& target);
  /// Undoes a move, unless the leaf has been moved elsewhere since, or somebody has appended.
  Result<void> move_back(const SessionPtr& session, const LeafMove& move);
  /// All or none.
  Result<AppendResult> label(const SessionPtr& session, const std::vector<LabelChange>& changes, bool force = false);
  /// Control characters become spaces. `source` is "user" or "auto"; an automatic title never takes the place of a
  /// user's (omp/FORMAT.md E6), and one that is there already is not written again. The title in force. Errors also:
  /// invalid_argument when nothing is left.
  Result<std::string> set_title(const SessionPtr& session, std::string_view title, bool force = false,
                                std::string_view source = "user");
  /// Writes the log anew as it is; one of an old version is migrated.
  Result<void> rewrite(const SessionPtr& session, bool force = false);
  /// Writes the log anew with the edits that `plan` makes of the session's state; it is asked again when somebody else
  /// wrote meanwhile. The log need not have a valid header. Never to a live session; `maybe_live`: to one that may be.
  /// Errors also: those of `plan`.
  using EditPlan = std::function<Result<std::vector<LogEdit>>(const Session&)>;
  Result<void> edit(const SessionPtr& session, const EditPlan& plan, bool maybe_live = false);
  /// A new log with all entries, or with the path to `target`; the source is not touched, live or not. For `title` see
  /// ForkPlan (new_log.h).
  Result<CreateResult> fork(const SessionPtr& session, const std::string& target = "", bool force = false,
                            const std::optional<std::string>& title = std::nullopt);
  Result<CreateResult> create(const NewSession& wanted);
  /// To another working directory: the header says so, and the log lies in that directory's folder.
  Result<CreateResult> move(const SessionPtr& session, const std::string& cwd, bool force = false);
  /// To the trash, with what lies beside it. Errors also: not_permitted unless allow_delete.
  Result<void> remove(const SessionPtr& session, bool force = false);

  /// Keeps how a command ended for status.json and the log; null clears the session's. `doing` is the verb. The session
  /// may be null. Callers of the calls above do this, so that what fails before it gets here is kept too.
  void note_outcome(const SessionPtr& session, std::string_view doing, const Error* error);

  [[nodiscard]] Catalog& catalog() const { return catalog_; }
  [[nodiscard]] const WriteSettings& settings() const { return settings_; }

  /// For commands, whoever carries them out.
  struct Memory {
    MemoryBudget waiting{24 << 20};  // what they say, until they are done
    MemoryBudget running{16 << 20};  // what is made of that
  };
  [[nodiscard]] Memory& memory() { return memory_; }

 private:
  Result<void> put_blobs(const std::vector<EntryDraft>& drafts);
  struct Target;
  using SetLeaf = std::function<Result<void>(AppendBatch&)>;
  Result<Target> find_branch(const SessionPtr& session, const std::string& target, bool force);
  Result<AppendResult> append_at(const SessionPtr& session, AppendCommand command, const SetLeaf& set_leaf);
  Result<MovedLeaf> move_leaf(const SessionPtr& session, const Target& target, bool force);
  Result<void> set_slot_title(const SessionPtr& session, const std::string& title, std::string_view source,
                              const std::string& previous, bool force);
  Result<void> rewrite_header(const SessionPtr& session, bool force, const HeaderChange& change,
                              std::optional<LogPlace> move_to = std::nullopt);
  Result<CreateResult> made_at(const LogPlace& place);
  Catalog& catalog_;
  const WriteSettings settings_;
  std::unique_ptr<WriteQueue> queue_;
  Memory memory_;
};

}  // namespace arborfs
