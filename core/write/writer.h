// The only way to write to the sessions of a store: every change to them
// (CONTRACT.md 4 to 6). The mount's control files, its shell verbs and the command line all use it. The agent's format
// defines how each change is written: it implements the calls of this class that its sessions support (Format::verbs);
// the others fail with does_not_take(). Writer::pass finds the writer of a session's format.
//
// Each call returns when the change is on disk (unless Durability::none) and visible in the session. A call that fails
// leaves the log as it was and does not affect later calls. Commands that arrive for one session at the same time share
// one write(2) and one fdatasync.
//
// Threads: any. No lock is held on return. Errors of all calls that change a session: busy
// (live, and neither forced nor mounted with live=write; or locked for longer than the wait), read_only (a version
// above 3, a log without header), not_found (entry or session gone), stale (a condition failed, or another program
// rewrote the log), no_space, over_quota, io.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/memory_budget.h"
#include "core/base/unique_fd.h"
#include "core/os/file.h"
#include "core/session/catalog.h"
#include "core/session/liveness.h"
#include "core/store/prompt_history.h"
#include "core/store/store_parts.h"
#include "core/write/conversation.h"
#include "core/write/relocation.h"
#include "core/write/trash.h"

namespace arborfs {

class Belongings;  // transfer.h
class Committer;   // commit.h

/// Adds prompts to a history (core/store/prompt_history.h) without waiting for programs that have it locked: a prompt
/// that cannot be stored at once waits here, and a thread stores it as soon as that is possible. Thread-safe.
class PromptQueue {
 public:
  struct Limits {
    std::chrono::milliseconds at_once{30};      // how long add() waits for a lock
    std::chrono::milliseconds each_try{100};    // how long the thread waits for a lock, and between two tries
    std::chrono::milliseconds longest{60'000};  // then a waiting prompt is dropped
    std::size_t most = 1000;                    // waiting prompts
    std::size_t most_bytes = 4 << 20;           // of their texts
  };
  /// Called for each prompt that is not stored, on any thread, without locks held.
  using Report = std::function<void(const Error&)>;

  explicit PromptQueue(Report report) : PromptQueue(std::move(report), Limits{}) {}
  PromptQueue(Report report, const Limits& limits) : report_(std::move(report)), limits_(limits) {}
  /// Tries once more to store what waits, and drops what is still locked out.
  ~PromptQueue();
  PromptQueue(const PromptQueue&) = delete;
  PromptQueue& operator=(const PromptQueue&) = delete;

  /// Stores the prompt, after those that wait already. `history` must outlive this object. On return the prompt is
  /// stored, or waits, or was reported.
  void add(PromptHistory& history, Prompt prompt, bool sync);

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    PromptHistory* history;
    Prompt prompt;
    bool sync;
    Clock::time_point since;
  };
  bool has_waiting();
  void put_off(Waiting waiting);
  void run();
  bool store_next(std::unique_lock<std::mutex>& lock);
  void drop_rest(std::unique_lock<std::mutex>& lock);
  const Report report_;
  const Limits limits_;
  std::mutex mutex_;  // not held while a history is written
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;  // guarded by mutex_
  std::size_t bytes_ = 0;        // of their texts; guarded by mutex_
  bool is_ending_ = false;       // guarded by mutex_
  std::thread thread_;           // started with the first that waits; guarded by mutex_
};

/// The most that a command takes of the disk.
struct RoomWanted {
  /// Beside the content of a file: blocks for a longer folder and for the map of the file's blocks.
  static constexpr std::uint64_t kBeside = 8 << 10;

  std::uint64_t bytes = 0;
  std::uint64_t files = 2;   // new ones, such as a lock and a file that replaces another
  std::string grown_file{};  // in the session's folder: it becomes longer by the bytes; "" for those of new files

  /// Of an agent that keeps a session in one or two files, perhaps in a folder of its own or of its project.
  static RoomWanted for_new_session(std::uint64_t bytes) { return {bytes + 4 * kBeside, 4}; }
};

/// Room in the file system of a folder.
struct RoomAt {
  Dir folder;
  RoomWanted wanted;
};

/// Disk space for a command that is not complete yet (CONTRACT.md 4.2).
using DiskReservation = std::vector<DiskRoomPtr>;

enum class Durability : std::uint8_t {
  synced,  // fdatasync before success
  none,    // left to the kernel
};

struct WriteSettings {
  Durability durability = Durability::synced;
  bool write_live = false;    // -o live=write: write to live sessions as if they were quiet
  bool allow_delete = false;  // -o allow_delete
  std::string mountpoint;     // of the writing mount, which the Writer must not access; "" for none
  std::string trash;          // folder for removed sessions; "" for the user's own (trash.h)
  bool history = false;       // -o history: text that is appended joins the prompts typed to the agent
};

/// No append may be longer.
inline constexpr std::size_t kMaxCommandBytes = 64 << 20;

/// One append as a user wrote it, all or nothing.
struct AppendText {
  std::string text;      // a user message, or JSON objects: messages and entries
  bool is_json = false;  // `text` is JSON
  std::string at;        // the entry to append at, spelled as LabelChange::target; "" for the leaf
};

/// The place of an append in the tree.
struct AppendResult {
  std::string id;         // of the last entry written, or of what waits in an agent's queue
  std::string parent_id;  // of the first entry's parent, "" for a root
};

/// A leaf move that wrote nothing to the log, and the leaf that was kept before it.
struct LeafMove {
  KeptLeaf made;
  std::optional<KeptLeaf> before;
};

/// The result of `branch`.
struct MovedLeaf {
  std::string leaf;              // id, or "root"
  std::string summary_id;        // of the branch_summary, "" without one
  std::string pin_id;            // of the entry that `pin` wrote, "" without one
  std::string agent_leaf;        // where agents continue until the next append, "" if that is the leaf
  std::optional<LeafMove> move;  // not set if `branch` wrote to the log
};

/// A session that was created or moved.
struct CreateResult {
  SessionPtr session;
  std::string id;
  std::string path;                 // projects/<project>/<session>
  std::vector<Effect> beside = {};  // what changed beside the session's own files
};

struct LabelChange {
  std::string target;  // an entry as users name it: id, unique prefix of 4 or more, #ordinal, label
  std::string label;   // "" clears it
};

struct NewSession {
  std::string cwd;  // absolute
  std::string title;
  std::string parent_session;
  std::string model;          // provider/model, "" for none
  std::string agent = {};     // "" for the first whose sessions arborfs creates
  std::string provider = {};  // the agent's name for the module that reaches the model, "" for its choice
};

/// A run of messages to be replaced.
struct Replacement {
  std::string first;  // entries on the path to the leaf, spelled as LabelChange::target
  std::string last;
  std::vector<std::string> messages;  // JSON objects; none only removes the run
};

/// A fork that another agent continues.
struct ForeignFork {
  std::string agent;
  std::string entry;  // where its path ends, spelled as LabelChange::target; "" for the leaf
  std::string title;  // "" for that of the source
  std::string cwd;    // absolute; "" for that of the source, or the home folder if the source has none;
                      // not for agents whose sessions have none (Format::has_cwd)
  Reach reach = Reach::context;
  ContextEdit edit = {};
};

/// A session that an agent got from another one.
struct AdoptResult {
  CreateResult made;
  AsText as_text;
  std::size_t left_out = 0;  // Conversation::left_out
};

/// Working files to keep in a checkpoint.
struct CheckpointWanted {
  std::string name;                // "" for one that is made from the time
  std::vector<std::string> files;  // paths below the session's working directory; empty: those kept before
};

class Writer {
 public:
  virtual ~Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Cuts off the partial appends of killed processes in logs (CONTRACT.md 7.2), except where an agent may hold the
  /// session. Call it once when a process begins to write, after the catalog's first scan of the store.
  virtual void take_back_parts() {}
  /// Fails as a write would fail, as far as can be known now: live, version, header, lock held by another process, a
  /// log that cannot be opened for writing.
  [[nodiscard]] virtual Result<void> check(const SessionPtr& session, bool force = false);
  /// Reserves space on the session's disk, until the reservation is destroyed, for a command that adds `bytes` to the
  /// session (CONTRACT.md 4.2). Errors: no_space, over_quota; too_large if the process may not let the log grow that
  /// far.
  [[nodiscard]] Result<DiskReservation> reserve(const SessionPtr& session, std::uint64_t bytes,
                                                std::string_view verb = "append");
  /// The room for that command. By default the log is appended to.
  [[nodiscard]] virtual RoomWanted room_for(const SessionPtr& session, std::string_view verb, std::uint64_t bytes);

  /// Reserves other room, for a command that makes new files. Errors: no_space, over_quota.
  [[nodiscard]] Result<DiskReservation> reserve(const std::vector<RoomAt>& rooms);
  /// The room for a new session of an agent with records of so many bytes and entries; none if it cannot be created.
  [[nodiscard]] virtual std::vector<RoomAt> room_for_new(const std::string& agent, std::uint64_t bytes,
                                                         std::uint64_t entries);
  /// The room for checkpoint() and for rewind(); none if they will be refused.
  [[nodiscard]] virtual std::vector<RoomAt> room_for_checkpoint(const SessionPtr& session,
                                                                const CheckpointWanted& wanted);
  [[nodiscard]] virtual std::vector<RoomAt> room_for_rewind(const SessionPtr& session, const std::string& checkpoint);

  /// Appends at the leaf, or at the entry that the text names, which becomes the parent of the first new entry in the
  /// same step. Errors also: invalid_argument with the reason and the number of the object, not_utf8, too_large.
  virtual Result<AppendResult> append_text(const SessionPtr& session, AppendText text);
  /// Fails if append_text() would refuse any text for this entry, "" for the leaf, even if the session can be written
  /// to. Cheap unless the agent keeps its sessions in a database.
  [[nodiscard]] virtual Result<void> check_text(const SessionPtr& session, const std::string& at);
  /// Fails if append_text() would refuse this JSON text, or if the session cannot be written to now.
  [[nodiscard]] virtual Result<void> check_json(const SessionPtr& session, std::string_view text);
  /// `target` is spelled as in LabelChange, or `root`. Without a summary nothing is written to the log: the leaf is
  /// stored outside it until the next append, and agents, which read only the log, continue at its last entry. `pin`
  /// writes a `custom` entry at the target instead, which is never sent to models. Errors also: invalid_argument for an
  /// entry with an unanswered tool call (F27; `force` overrides), not_found for an ambiguous target.
  virtual Result<MovedLeaf> branch(const SessionPtr& session, const std::string& target,
                                   const std::string& summary = "", bool force = false, bool pin = false);
  /// Fails if branch() would refuse the target.
  [[nodiscard]] virtual Result<void> check_branch(const SessionPtr& session, const std::string& target);
  /// Undoes a move, unless the leaf has been moved again or an entry was appended since.
  virtual Result<void> move_back(const SessionPtr& session, const LeafMove& move);
  /// All changes or none. Where the format has no labels, the session's notes have them, also of a live session; the
  /// result is then the place of the last entry that was labelled. Errors also, there: those of Notes::set_labels;
  /// invalid_argument for an entry without an id.
  virtual Result<AppendResult> label(const SessionPtr& session, const std::vector<LabelChange>& changes,
                                     bool force = false);
  /// Control characters become spaces. `source` is "user" or "auto"; an automatic title never replaces a user's, and a
  /// title that is already set is not written again. Returns the title in effect. Errors also: invalid_argument if
  /// nothing is left, not_utf8, too_large. Where the format has no titles, the session's notes have it, also of a live
  /// session; there a blank title removes that, and errors also are those of Notes::set_title.
  virtual Result<std::string> set_title(const SessionPtr& session, std::string_view title, bool force = false,
                                        std::string_view source = "user");
  /// Sets a mark by which the agent's own lists of sessions go, or takes it away; one that is as wanted stays.
  virtual Result<void> set_mark(const SessionPtr& session, Mark mark, bool is_set, bool force = false);
  /// Of sessions of every agent, also of live ones: tags are notes. Returns the tags after the change. An agent that
  /// keeps one tag itself gets the first one, unless it has one of them already or the session cannot be written now.
  /// Errors: those of Notes::change_tags; for taking away the tag that the agent keeps, those of a title, and
  /// not_permitted for a session that is only read.
  virtual Result<Notes::Tags> change_tags(const SessionPtr& session, const Notes::TagChange& change);
  /// Creates a session with all entries, or with the path to `target`. The source may be live and is not changed.
  /// `title`: "" for the source's title followed by " (fork)"; not set for the title that the agent's own fork gives.
  virtual Result<CreateResult> fork(const SessionPtr& session, const std::string& target = "", bool force = false,
                                    const std::optional<std::string>& title = std::nullopt);
  /// Writes the conversation on the path to an entry as a new session of another agent, in its first store. The source
  /// may be live, of any format, and is not changed. Errors also: unsupported if arborfs writes no sessions of that
  /// agent, read_only if no store of it is open.
  virtual Result<AdoptResult> fork_to(const SessionPtr& session, const ForeignFork& wanted);
  virtual Result<CreateResult> create(const NewSession& wanted);
  /// True if create() can succeed.
  [[nodiscard]] virtual bool creates() const { return false; }
  /// Moves the session to another working directory, and its log to the place of that directory's sessions.
  virtual Result<CreateResult> move(const SessionPtr& session, const std::string& cwd, bool force = false);
  /// Gives the session, of whatever agent, the working directory that its own one became, so that its agent finds it
  /// there. Returns what was changed, for put_back(). If this is killed, the same call completes it. Sub-agents whose
  /// logs moved along are found by the catalog's next scan. Errors also: those of start_relocation() and
  /// make_relocation().
  Result<Relocation> relocate(const SessionPtr& session, const FolderMove& move);
  /// Fails as relocate() would fail now, or returns what it would change.
  [[nodiscard]] Result<Relocation> check_relocation(const SessionPtr& session, const FolderMove& move);
  /// Takes back what relocate() made, the last first: every byte and every time is then as it was before, apart from
  /// what was written since. Changes nothing if one of the sessions is live or can no longer go back. If it fails
  /// later, or is killed, the same call completes it. Errors: as relocate(); not_found if no store of the catalog has
  /// one.
  Result<void> put_back(const std::vector<Relocation>& made);

  /// Moves the session to the trash, with the files that belong to it. Errors also: not_permitted unless allow_delete.
  virtual Result<void> remove(const SessionPtr& session, bool force = false);
  /// Fails if remove() would fail, as far as that is known now. Changes nothing.
  [[nodiscard]] virtual Result<void> check_remove(const SessionPtr& session, bool force = false);

  /// Replaces a run of messages of the path to the leaf; the messages after the run then follow the new ones.
  virtual Result<AppendResult> replace(const SessionPtr& session, const Replacement& wanted, bool force = false);
  /// Appends the agent's own kind of summary of the session: a user message. If `text` is "", arborfs generates it.
  virtual Result<AppendResult> summarize(const SessionPtr& session, const std::string& text, bool force = false);
  /// Appends the entries that another program's rewrite has erased (core/session/store_state.h), as they were.
  /// Returns how many.
  virtual Result<std::size_t> put_back_erased(const SessionPtr& session, bool force = false);
  /// Runs `work`, which changes the session in another way than commands do, or moves it (undo.h, relocation.h), as
  /// this writer makes its changes: while it is quiet, with no other command on it, under its lock. The session is read
  /// again then. Errors: those of `work`.
  virtual Result<void> under_lock(const SessionPtr& session, const std::function<Result<void>()>& work, bool force);
  /// Saves working files with the session. Returns one JSON line.
  virtual Result<std::string> checkpoint(const SessionPtr& session, const CheckpointWanted& wanted, bool force = false);
  /// Restores the working files of a checkpoint. `dry_run` only reports the changes. Returns one JSON line.
  virtual Result<std::string> rewind(const SessionPtr& session, const std::string& checkpoint, bool dry_run,
                                     bool force = false);

  /// Creates a session of `agent` from a conversation, completely or not at all; called by fork_to().
  virtual Result<AdoptResult> adopt(const Conversation& conversation, const std::string& agent);
  /// The same for the conversation of a session of that agent, whose records an agent may take over as they are.
  /// `wanted` says which; the title and the working directory are those of `conversation`.
  virtual Result<AdoptResult> adopt_own(const SessionPtr& session, const ForeignFork& wanted,
                                        const Conversation& conversation);

  /// Records how a command ended, for status.json and the log; null clears the session's error. `doing` is the verb.
  /// The session may be null. Callers of the calls above do this, so that errors before the Writer are recorded too.
  void note_outcome(const SessionPtr& session, std::string_view doing, const Error* error);

  /// Adds appended text to the prompts that were typed to the session's agent, if the settings say so and the agent
  /// keeps such prompts. If another program has them locked, the text is added later, and this does not wait. Never
  /// fails: the first error is recorded as note_outcome() does.
  void remember_prompt(const SessionPtr& session, const std::string& text);

  [[nodiscard]] Catalog& catalog() const { return catalog_; }
  [[nodiscard]] const WriteSettings& settings() const { return settings_; }

  /// Memory budgets for commands, whichever thread runs them.
  struct Memory {
    MemoryBudget waiting{24 << 20};  // the text of commands until they are done
    MemoryBudget running{16 << 20};  // the entries made from it
  };
  [[nodiscard]] Memory& memory() { return memory_; }

 protected:
  /// `catalog` must outlive this object.
  Writer(Catalog& catalog, WriteSettings settings) : catalog_(catalog), settings_(std::move(settings)) {}
  /// What makes the agent find the session where its working directory is now. Changes nothing; the caller holds the
  /// lock, or only wants to know.
  [[nodiscard]] virtual Result<Relocation> describe_relocation(const SessionPtr& session, const FolderMove& move);
  [[nodiscard]] bool syncs() const { return settings_.durability == Durability::synced; }
  /// The agent that may have the session open; nothing if none has, and with live=write.
  [[nodiscard]] std::optional<Liveness> held_by(const SessionPtr& session) const;
  /// Errors: busy if an agent may have the session open; not if `force` is set, nor with live=write.
  [[nodiscard]] Result<void> check_quiet(const SessionPtr& session, bool force) const;
  /// Errors: not_permitted unless allow_delete.
  [[nodiscard]] Result<void> check_allows_delete() const;
  /// Moves the session to the trash, and the lines that arborfs appended to it, and protects, too. The caller holds its
  /// lock. Errors: those of Transfer::take.
  Result<void> move_to_trash(const SessionPtr& session, const std::unique_ptr<Belongings>& what, bool sync = true);
  /// For the list of operations, and for the lines that arborfs protects. A failure is logged: they are not protected
  /// after the session is restored.
  void note_trashed(const Session& session, const Trashed& trashed);
  /// The same for a change that no Committer made.
  void note_effects(const Session& session, std::string_view verb, std::vector<Effect> effects);
  /// Changes the tags in the notes alone, and adds to `effects` what that did. Errors: those of Notes::change_tags.
  Result<Notes::Tags> note_tags(const SessionPtr& session, const Notes::TagChange& change,
                                std::vector<Effect>& effects);
  /// The same for one that undo cannot take back; `instead` says what a user can do.
  void note_final(const Session& session, std::string_view verb, std::string instead);
  /// Adds a session that was just written to the catalog. Errors: stale if it is gone already.
  Result<CreateResult> show_made(const LogPlace& place);

 private:
  /// What makes this writer's changes; null if nothing does.
  [[nodiscard]] virtual Committer* committer() { return nullptr; }
  /// The writer that has the calls for this session; null if this one has them, and refuses those that it lacks.
  [[nodiscard]] virtual Writer* writer_of_agent(const SessionPtr& /*session*/) { return nullptr; }
  /// The same, but null for a session that is a link: through that arborfs only reads.
  [[nodiscard]] Writer* writer_of(const SessionPtr& session);
  template <class Outcome, class... Parameters, class... Rest>
  Outcome pass(std::string_view verb, Outcome (Writer::*call)(const SessionPtr&, Parameters...),
               const SessionPtr& session, Rest&&... rest);
  void note_lost_prompt(const Error& error);
  /// Adds a change of its notes to the list of operations.
  void note_noted(const Session& session, std::string_view verb, const Noted& before, const Noted& after);
  Result<AppendResult> note_labels(const SessionPtr& session, const std::vector<LabelChange>& changes);
  Result<std::string> note_title(const SessionPtr& session, std::string_view title, std::string_view source);
  [[nodiscard]] Result<void> check_made(const SessionPtr& session, const Relocation& wanted);
  Catalog& catalog_;
  const WriteSettings settings_;
  Memory memory_;
  std::atomic<bool> has_told_of_history_{false};  // an error of remember_prompt()
  PromptQueue prompts_{[this](const Error& error) { note_lost_prompt(error); }};
};

/// The writers of all formats as one: each call goes to the writer of the session's format. It refuses everything if
/// there is none for the session, and, but for forks, if the session is a link. Threads and locks: as those of the
/// writers.
class WriterSet final : public Writer {
 public:
  /// `catalog` must outlive this object.
  WriterSet(Catalog& catalog, WriteSettings settings) : Writer(catalog, std::move(settings)) {}

  /// Sessions of these agents are written through `writer`. Call it before any other; agents outlive this object.
  void add(const std::vector<std::string_view>& agents, std::unique_ptr<Writer> writer);

  void take_back_parts() override;
  /// Without an agent, as create().
  [[nodiscard]] std::vector<RoomAt> room_for_new(const std::string& agent, std::uint64_t bytes,
                                                 std::uint64_t entries) override;
  Result<CreateResult> fork(const SessionPtr& session, const std::string& target, bool force,
                            const std::optional<std::string>& title) override;
  Result<AdoptResult> fork_to(const SessionPtr& session, const ForeignFork& wanted) override;
  /// Without an agent, the first store whose format creates sessions counts.
  Result<CreateResult> create(const NewSession& wanted) override;
  Result<void> remove(const SessionPtr& session, bool force) override;

 private:
  /// Null if there is none, or if sessions of the format are not written.
  [[nodiscard]] Writer* writer_of_agent(const SessionPtr& session) override;
  /// The agents to which sessions can be forked, or of which sessions can be created.
  [[nodiscard]] std::vector<std::string> agents() const;
  [[nodiscard]] std::vector<std::string> creating_agents() const;
  /// The error with what to do if the agent has no store, or none that exists.
  [[nodiscard]] Error with_advice(Error error, const std::string& agent) const;
  Result<CreateResult> create_for(const NewSession& wanted);
  /// A session that was made joins the list of operations.
  Result<CreateResult> noted(std::string_view verb, Result<CreateResult> made);
  /// The agent of the first store whose format creates sessions; "" if there is none.
  [[nodiscard]] std::string first_creating() const;
  std::vector<std::unique_ptr<Writer>> writers_;
  std::map<std::string_view, Writer*> by_agent_;
};

}  // namespace arborfs
