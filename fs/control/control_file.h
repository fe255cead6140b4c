// One open control file (CONTRACT.md 4.1, 4.2): splits the written bytes into commands (core/write/command_stream.h),
// runs them by the table of verbs, and returns their results to reads of the same handle.
//
// A text on `append` is one message from open to close. Only a FLUSH reports a close in time to return errors, and it
// comes for each descriptor that is closed: from shells after each builtin, from children that exit (FAILURES.md P5).
// So at a FLUSH while a command waits, the closer's descriptors are counted in /proc:
//  - the closer is the process that opened the file: it was the last if fewer descriptors than handles are left;
//  - another process: it was the last if neither the closer nor the opener has a descriptor left;
//  - if /proc cannot be read: it was the last.
// If a signal kills the closer, the text is dropped at the last close. RELEASE runs input that a FLUSH left waiting by
// mistake; then only status.json shows the result.
//
// After a refusal the rest of the command is refused too, until the handle is closed, synced, read or truncated. If it
// is not a text, it is enough that the program that wrote it closes one descriptor of the file (command_stream.h).
//
// `branch` takes its summary from further writes, since a shell's printf writes line by line. If the summary is
// refused, a leaf that the first line has already moved is moved back.
//
// Threads: any; concurrent commands of one handle end in any order. Lock: mutex_, a leaf, not held while a command
// runs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/memory_budget.h"
#include "core/write/command_stream.h"
#include "core/write/writer.h"
#include "fs/control/client_process.h"
#include "fs/nodes/control_inodes.h"
#include "fs/nodes/invalidation.h"
#include "fs/nodes/mount_state.h"
#include "fs/nodes/request_context.h"

namespace arborfs {

/// Wraps every change that this mount makes: records its outcome, and lets the caller be answered only when every later
/// read shows the change (CONTRACT.md 3.1). Any thread; no lock is held while it works or waits.
class WriteBarrier {
 public:
  /// All outlive it.
  WriteBarrier(MountState& state, Writer& writer, InvalidationQueue& queue)
      : state_(state), writer_(writer), invalidations_(queue) {}

  /// Runs `work`, which changes `session` (null: no existing one) by one call of the Writer and returns a Result.
  /// `doing` is the verb.
  template <class Work>
  auto run(const SessionPtr& session, std::string_view doing, Work work) {
    return run_unnoted(session, [&](Writer& writer) {
      auto done = work(writer);
      writer.note_outcome(session, doing, done ? nullptr : &done.error());
      return done;
    });
  }
  /// The same for a part of a command whose outcome is recorded elsewhere.
  template <class Work>
  auto run_unnoted(const SessionPtr& session, Work work) {
    const InvalidationQueue::NotifiesHere notifies_here;
    const Shown before = shown(session);
    auto done = work(writer_);
    invalidate(session, before, done.has_value());
    return done;
  }
  /// Records a command that was refused before it reached the Writer.
  void refused(const SessionPtr& session, std::string_view doing, const Error& why);

  [[nodiscard]] MountState& state() const { return state_; }
  [[nodiscard]] Writer& writer() const { return writer_; }
  [[nodiscard]] InvalidationQueue& invalidations() const { return invalidations_; }

 private:
  /// Where a session is shown, which the change feed does not report, and the feed's last sequence number.
  struct Shown {
    std::string path;           // CatalogView::path_of
    std::uint32_t starter = 0;  // ShownAt::starter
    std::string id_name;        // in by-id/
    std::uint64_t sequence = 0;
    [[nodiscard]] std::string folder() const { return path.substr(0, path.rfind('/')); }
  };
  [[nodiscard]] Shown shown(const SessionPtr& session) const;
  void invalidate(const SessionPtr& session, const Shown& before, bool is_done);
  void tell(std::uint64_t since, std::vector<Invalidation> more);
  void add_place(const Shown& was, const Shown& is, std::vector<Invalidation>& out) const;

  MountState& state_;
  Writer& writer_;
  InvalidationQueue& invalidations_;
};

class ControlFile;

/// The open control files of a mount, to count those that one process opened. Thread-safe; mutex_ is a leaf.
class OpenControls {
 public:
  void add(const ControlFile* file);
  void remove(const ControlFile* file);
  /// Handles of a node that the process `opener` opened and that are not known to be closed.
  [[nodiscard]] std::size_t count(NodeId node, pid_t opener) const;

 private:
  mutable std::mutex mutex_;
  std::vector<const ControlFile*> files_;  // guarded by mutex_
};

class ControlFile {
 public:
  /// The file that was opened.
  struct Target {
    NodeId node;  // its first inode
    const Verb* verb = nullptr;
    Subject subject;
    pid_t opener = 0;                                             // its process
    IsPath is_path;                                               // true for each path of the file
    std::function<Result<std::string>(RequestContext&)> content;  // what a read returns if nothing was written
    SnapshotPtr document;  // for `title`: keeps its attributes as they were at open
  };

  /// `lease` marks the inode through which the file was opened.
  ControlFile(WriteBarrier& writes, OpenControls& open, Target target, std::unique_ptr<ControlInodes::Lease> lease);
  ~ControlFile();
  ControlFile(const ControlFile&) = delete;
  ControlFile& operator=(const ControlFile&) = delete;

  /// `client` is the thread that writes; `goes_on` as in CommandStream::feed. A write that fails has no effect.
  /// A wait for memory ends once the thread's work is cancelled. Errors: those of the command; for a text, everything
  /// that can be detected before it ends (CONTRACT.md 4.2). Throws MemoryBudget::Exhausted if the wait for memory is
  /// too long.
  Result<void> write(std::string_view bytes, bool goes_on, pid_t client);
  /// Runs the waiting input, then returns the next bytes of the results or of the content; "" at the end.
  Result<std::string> read(RequestContext& call, std::size_t size);
  /// Runs the waiting input.
  Result<void> sync();
  /// Drops the waiting input, as the file is truncated.
  void truncate();
  /// Facts from /proc about a close.
  struct Closing {
    pid_t closer = 0;  // its process
    bool was_killed = false;
    bool is_last = true;
  };
  /// The thread `client` is closing a descriptor. Call it before the request can be answered: a killed client exits as
  /// soon as its close is answered, and then nothing shows any more that it was killed. Quick.
  [[nodiscard]] Closing judge_close(pid_t client) const;
  Result<void> close_one(const Closing& closing);
  /// The last descriptor is closed.
  void release();

  /// True if close_one() or release() may have something to do.
  [[nodiscard]] bool is_waiting() const;
  /// Releases the inode because a descriptor is being closed, most often the last one. Other handles may keep the inode
  /// open.
  void release_inode();
  [[nodiscard]] NodeId node() const { return target_.node; }
  [[nodiscard]] pid_t opener() const { return target_.opener; }
  [[nodiscard]] bool is_closed() const;

 private:
  Result<void> take(std::string_view bytes, bool goes_on, pid_t client);
  void refuse_rest(const Error& why);
  Result<void> take_waiting();
  Result<void> run(CommandStream::Command& command);
  void give_back();
  Result<void> judge_early();
  Result<void> make_room(std::size_t room);
  Result<void> refuse(const Error& why);
  bool roll_back();
  void release_room();

  WriteBarrier& writes_;
  OpenControls& open_;
  const Target target_;
  std::atomic<bool> has_run_{false};  // a command; the printf of a shell writes each line by itself
  mutable std::mutex mutex_;
  std::unique_ptr<ControlInodes::Lease> lease_;     // until the first close; guarded by mutex_
  MemoryBudget::Share memory_;                      // for waiting and running commands; guards itself
  CommandStream stream_;                            // guarded by mutex_, as are all below
  std::function<Result<void>(Writer&)> roll_back_;  // undoes the command whose text may follow
  pid_t writer_ = 0;                                // the process that wrote the waiting input
  std::optional<DiskReservation> reservation_;      // for the waiting input
  std::size_t room_ = 0;                            // bytes asked for
  bool is_checked_ = false;                         // the Writer has checked the waiting input
  bool has_written_ = false;
  bool has_read_content_ = false;
  bool is_closed_ = false;   // the last descriptor was closed, as far as can be detected
  bool was_killed_ = false;  // of the latest close after which the file stayed open
  std::string out_;          // results not read yet
};
using ControlFilePtr = std::shared_ptr<ControlFile>;

}  // namespace arborfs
