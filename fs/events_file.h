// The file `events`: one JSON line a change, for any number of readers, each with a cursor that begins where it opened.
// A reader that finds nothing is parked without a thread; one thread serves all parked ones (it starts with the first
// reader). Thread-safe. A slow reader is told in a line how many changes it missed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/session/change_feed.h"

namespace arborfs {

class EventsFile;

/// One open `events`.
class EventReader {
 public:
  explicit EventReader(std::uint64_t cursor) : cursor_(cursor) {}

 private:
  friend class EventsFile;
  std::mutex mutex_;      // leaf, but for the feed's
  std::uint64_t cursor_;  // last change taken; guarded by mutex_
  std::string unread_;    // of a line that was read in part; guarded by mutex_
};

class EventsFile {
 public:
  /// Somebody who waits for a reader to have something.
  class Waiter {
   public:
    virtual ~Waiter() = default;
    /// Called without locks once there may be something, or the file closes. True when done; false waits on.
    virtual bool wake(bool closing) = 0;
    /// Nobody waits for its answer any more.
    [[nodiscard]] virtual bool is_over() const = 0;
  };

  explicit EventsFile(ChangeFeed& feed) : feed_(feed) {}
  /// As close().
  ~EventsFile();
  EventsFile(const EventsFile&) = delete;
  EventsFile& operator=(const EventsFile&) = delete;

  /// Throws std::system_error when no thread can be had.
  std::shared_ptr<EventReader> open();
  /// Up to `size` bytes; "" when there is nothing now.
  std::string take(EventReader& reader, std::size_t size);
  [[nodiscard]] bool has_some(EventReader& reader) const;
  /// Wakes the waiter at the next change. It may be woken before this returns.
  void park(std::shared_ptr<Waiter> waiter);
  /// Wakes every waiter, closing, now and from now on: the mount has been taken away under its readers.
  void hang_up();
  /// As hang_up(), and ends the thread. The feed must be closed before.
  void close();

 private:
  void run(std::uint64_t seen);
  void wake_all(bool closing);
  ChangeFeed& feed_;
  std::mutex mutex_;                              // leaf
  std::vector<std::shared_ptr<Waiter>> waiters_;  // guarded by mutex_
  bool closed_ = false;                           // guarded by mutex_
  std::thread thread_;                            // started under mutex_
};

}  // namespace arborfs
