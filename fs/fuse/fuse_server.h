// The kernel's side of a mount: libfuse callbacks decode a request, run one operation of the Vfs and answer. An
// operation that would take long continues in the worker pool; its client can be killed meanwhile. No exception leaves
// a callback, no lock is held across an answer (CONTRACT.md 8.1, 8.2).
#pragma once

#include <sys/statvfs.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/hanging_work.h"
#include "fs/control/write_ops.h"
#include "fs/fuse/events_file.h"
#include "fs/fuse/fuse_request.h"
#include "fs/fuse/request_threads.h"
#include "fs/nodes/invalidation.h"
#include "fs/nodes/read_ahead.h"
#include "fs/nodes/vfs.h"

namespace arborfs {

struct MountSettings {
  std::string mountpoint;                 // absolute, without symbolic links
  std::string source;                     // shown by mount(8)
  std::string sessions;                   // the folder of the store whose file system statfs reports
  std::vector<std::string> fuse_options;  // for libfuse, each without commas
  bool read_only = false;
  bool xattr = false;
  bool notify = true;
  bool debug = false;
  unsigned max_read = 0;  // bytes; libfuse needs it as an option and in init; 0 for the kernel's own limit
};

/// All handles that the kernel holds, of any kind. The kernel releases most of them; those that it still holds when the
/// mount is removed are freed with the table. Thread-safe.
class OpenHandles {
 public:
  /// Returns the number that the kernel will use for the handle.
  std::uint64_t add(std::shared_ptr<void> handle) {
    const auto number = reinterpret_cast<std::uint64_t>(handle.get());
    const std::lock_guard lock(mutex_);
    handles_[number] = std::move(handle);
    return number;
  }
  /// Removes a handle from the table and returns it.
  std::shared_ptr<void> take(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    auto node = handles_.extract(number);
    return node ? std::move(node.mapped()) : nullptr;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<void>> handles_;  // guarded by mutex_
};

/// The free space of the store's file system, for statfs. That file system may hang: requests wait at most kPatience,
/// and until it answers, its last answer is used. Thread-safe.
class StoreSpace {
 public:
  /// May hang; returns all zeros if it fails.
  using Ask = std::function<struct statvfs()>;
  static constexpr std::chrono::milliseconds kPatience{100};
  static constexpr std::chrono::seconds kFresh{1};

  explicit StoreSpace(Ask ask) : asked_(std::move(ask), kPatience, kFresh) {}
  /// All zeros before the first answer.
  struct statvfs now() {
    return asked_.now().value;
  }

 private:
  PatientAsk<struct statvfs> asked_;
};

/// The file system of `folder`, or of the nearest folder above it that exists.
struct statvfs space_of(std::string folder);

/// The table of libfuse callbacks (fuse_operations.cc), for a FuseServer as user data. Features that a mount lacks
/// (extended attributes unless enabled; on a read-only mount OPEN and everything that needs it, see ImplicitHandles)
/// are refused once, and the kernel never asks for them again.
fuse_lowlevel_ops fuse_operations(const MountSettings& settings);

class FuseServer {
 public:
  /// All outlive the server. `changes` is null on a read-only mount.
  FuseServer(Vfs& vfs, EventsFile& events, WriteOps* changes, MountSettings settings);
  ~FuseServer();
  FuseServer(const FuseServer&) = delete;
  FuseServer& operator=(const FuseServer&) = delete;

  /// Mounts. libfuse reports by itself what went wrong (log_fuse_messages). Errors: io, invalid_argument
  /// (options).
  Result<void> mount();
  /// Serves until unmounted or until leave(). `on_init` is called once, before the kernel's INIT is answered, and
  /// `on_ready` once it is: then the mount works. False if serving ended with an error.
  bool serve(std::function<void()> on_init, const std::function<void()>& on_ready);
  /// Makes serve() return once the requests in progress are answered. From any thread, once mounted.
  void leave();
  /// Stops read-ahead, and cancels and answers the requests in the worker pool; later requests that would take long
  /// fail. Writes in progress are finished and answered; later ones run on the thread of their request.
  void stop_slow_work() {
    if (read_ahead_) {
      read_ahead_->stop();
    }
    worker_pool_.stop();
    search_pool_.stop();
    submount_pools_.stop();
    write_pool_.stop();
  }
  /// Unmounts; no request is served any more. Also removes a mount that is dead because its connection was aborted, as
  /// by umount -f. A different mount that is now at the path is left alone.
  void unmount();
  [[nodiscard]] fuse_session* session() const { return session_; }

 private:
  void start_read_ahead();
  friend struct FuseOperations;
  friend struct FuseDispatch;
  static constexpr std::size_t kWriteThreads = 64;  // they wait for locks and disks
  static constexpr std::size_t kSearchThreads = 4;  // they read all sessions, even those in submounts that hang
  Vfs& vfs_;
  EventsFile& events_;
  WriteOps* const changes_;
  OpenHandles handles_;
  const MountSettings settings_;
  StoreSpace space_;
  std::function<void()> on_init_;
  fuse_session* session_ = nullptr;
  bool is_mounted_ = false;
  std::string mount_;                    // its id; "" if unknown
  std::optional<FuseRequestLoop> loop_;  // set once mounted
  InterruptWatch interrupts_;
  std::size_t longest_write_ = 0;        // longest WRITE, in bytes; set before the first request
  std::optional<ReadAhead> read_ahead_;  // set before the first request; empty without MountSettings::notify
  // The pools must stop before the watch and the session are destroyed.
  WorkerPool worker_pool_;
  WorkerPool search_pool_{kSearchThreads};
  SubmountPools submount_pools_;
  WorkerPool write_pool_{kWriteThreads};
};

/// Invalidates the kernel's caches from a thread of its own, never with a lock held (CONTRACT.md 8.2). To invalidate a
/// name the kernel locks its folder, so the thread may have to wait until requests in progress are answered; it must be
/// stopped while requests are still served. For attributes the kernel locks nothing, so requests may invalidate those
/// themselves (InvalidationQueue::notify_at_once).
class Invalidator {
 public:
  /// Starts the thread. All arguments outlive it.
  Invalidator(MountState& state, InvalidationQueue& queue, fuse_session* session);
  /// Closes the queue and joins the thread.
  ~Invalidator();
  Invalidator(const Invalidator&) = delete;
  Invalidator& operator=(const Invalidator&) = delete;

 private:
  void run();
  template <class Work>
  bool has_done(const Work& work);
  void send_all(const std::vector<Invalidation>& invalidations);
  bool send_name(const Invalidation& one);
  const InvalidationMap map_;
  InvalidationQueue& invalidations_;
  fuse_session* const session_;
  bool can_expire_ = true;  // used only by the thread
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// Sends libfuse's messages, which it would print on standard error, to the daemon's log, one line each.
/// `are_errors_said`: warnings and errors also go to standard error, where the user sees why a mount failed; for a log
/// that is not standard error itself. Call it once, before other threads start and after open_log.
void log_fuse_messages(bool are_errors_said);

}  // namespace arborfs
