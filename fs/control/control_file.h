// One open control file (CONTRACT.md 4.1, 4.2): collects what is written into commands (core/writer/command_stream.h),
// runs them by the table of verbs, and gives their results to whoever reads the same handle.
//
// A text on `append` is one message from open to close. Only FLUSH tells of a close in time to report errors, and it
// comes for each descriptor that is closed: from shells after each builtin, from children that exit (FAILURES.md P5).
// So at a FLUSH with something waiting the closer's descriptors are counted in /proc:
//  - the process that opened it has fewer of them open on this file than it has handles of it: this was the last;
//  - another process: not the last while the opener lives and has one, else judged by the closer alone;
//  - where /proc cannot tell: the last.
// A process that a signal killed leaves nothing behind: its text is dropped at the last close. RELEASE takes what a
// FLUSH left waiting by mistake; then only status.json tells how it ended.
//
// What a refusal leaves of a command is refused too, until the handle is closed, synced, read or truncated; what is no
// text, until the program that wrote it closes a descriptor of the file (command_stream.h).
//
// `branch` takes its summary from further writes, since a shell's printf writes line by line. A leaf that the first
// line alone has moved goes back when the summary behind it is refused.
//
// Threads: any; commands of one handle that come at the same time end in any order. Lock: mutex_, a leaf, not held
// while a command runs.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/memory_budget.h"
#include "core/writer/command_stream.h"
#include "fs/control/write_barrier.h"
#include "fs/tree/control_inodes.h"
#include "fs/tree/request_context.h"

namespace arborfs {

class ControlFile;

/// The open control files of a mount, to count those of one process. Thread-safe; mutex_ is a leaf.
class OpenControls {
 public:
  void add(const ControlFile* file);
  void remove(const ControlFile* file);
  /// Handles of one node that a process opened and is not known to have closed.
  [[nodiscard]] std::size_t count(NodeId node, pid_t opener) const;

 private:
  mutable std::mutex mutex_;
  std::vector<const ControlFile*> files_;  // guarded by mutex_
};

class ControlFile {
 public:
  /// What was opened.
  struct Target {
    NodeId node;  // its first inode
    const Verb* verb = nullptr;
    Subject subject;
    pid_t opener = 0;                                             // its process
    std::function<std::string()> path_tail;                       // how a path to it ends now
    std::function<Result<std::string>(RequestContext&)> content;  // what a handle reads that has written nothing
    SnapshotPtr document;  // of `title`: goes on being described as it was opened
  };

  /// `stay` keeps the inode through which it was opened.
  ControlFile(WriteBarrier& writes, OpenControls& open, Target target, std::unique_ptr<ControlInodes::Stay> stay);
  ~ControlFile();
  ControlFile(const ControlFile&) = delete;
  ControlFile& operator=(const ControlFile&) = delete;

  /// `client` is the thread that writes; `goes_on` as in CommandStream::feed. Nothing of a write that fails is kept.
  /// Errors: those of the command, and for a text whatever can be told before it ends (CONTRACT.md 4.2).
  /// `cancelled`, which may be null, ends a wait for memory. Throws MemoryBudget::Exhausted when that is too long.
  Result<void> write(std::string_view bytes, bool goes_on, pid_t client, const std::atomic<bool>* cancelled = nullptr);
  /// Takes what waits, then gives the next bytes of the results, or of the content; "" at the end.
  Result<std::string> read(RequestContext& call, std::size_t size);
  /// Takes what waits.
  Result<void> sync();
  /// Drops what waits: the file is truncated.
  void truncate();
  /// What /proc says of a close.
  struct Closing {
    pid_t closer = 0;  // its process
    bool was_killed = false;
    bool is_last = true;
  };
  /// A descriptor is being closed by the thread `client`. To be asked before anybody may answer it: a killed client
  /// whose close is answered is gone, and nothing tells any more that it was killed. Quick.
  [[nodiscard]] Closing judge_close(pid_t client) const;
  Result<void> close_one(const Closing& closing);
  /// The last descriptor is gone.
  void release();

  /// close_one() and release() might do something.
  [[nodiscard]] bool is_waiting() const;
  /// A descriptor is being closed, most often the last one: other handles may have the same inode open.
  void leave_door();
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
  bool take_back();
  void leave_room();

  WriteBarrier& writes_;
  OpenControls& open_;
  const Target target_;
  mutable std::mutex mutex_;
  std::unique_ptr<ControlInodes::Stay> stay_;       // until the first close; guarded by mutex_
  MemoryBudget::Share memory_;                      // for what waits and is carried out; guards itself
  CommandStream stream_;                            // guarded by mutex_, as all below
  std::function<Result<void>(Writer&)> take_back_;  // undoes the command whose text may follow
  pid_t writer_ = 0;                                // the process that wrote what waits
  std::optional<DiskReservation> reservation_;      // for what waits
  std::size_t room_ = 0;                            // what was asked for
  bool is_checked_ = false;                         // what waits was asked about
  bool has_written_ = false;
  bool has_read_content_ = false;
  bool is_closed_ = false;   // by its last close, as far as can be told
  bool was_killed_ = false;  // the last closer that did not count
  std::string out_;          // not read yet
};
using ControlFilePtr = std::shared_ptr<ControlFile>;

}  // namespace arborfs
