// The file `events`: one JSON line a change, for any number of readers. To a reader that goes on from where it opened
// it is a stream: it begins with the next change, and at its end a read waits. To a reader that has asked for the end,
// as tail does, it is a growing file: offsets count from the mount on, and a read at its end gives nothing. A reader
// that waits is parked without a thread; one thread serves all parked ones (it starts with the first reader).
// Thread-safe. A slow reader of the stream is told in a line how many changes it missed.
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
#include "fs/fuse/events_text.h"

namespace arborfs {

class EventsFile;

/// One open `events`. Every member is guarded by EventsFile::text_mutex_. The offsets of a stream lead to a notice of
/// what was missed, and behind it to the text from base_ on.
class EventReader {
  friend class EventsFile;
  std::shared_ptr<const bool> file_mark_;  // of one that reads a file; none for a stream
  std::uint64_t base_ = 0;                 // a position in the text
  std::uint64_t notice_offset_ = 0;        // in the stream
  std::string notice_;
  std::uint64_t next_ = 0;    // the position in the text behind the last read
  std::uint64_t seen_ = 0;    // sequence number of the last change that was read whole
  bool is_mid_line_ = false;  // after the last read
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

  explicit EventsFile(ChangeFeed& feed) : feed_(feed), text_(feed) {}
  /// As close().
  ~EventsFile();
  EventsFile(const EventsFile&) = delete;
  EventsFile& operator=(const EventsFile&) = delete;

  /// Throws std::system_error when no thread can be had.
  std::shared_ptr<EventReader> open();
  /// How many bytes the file has had since the mount; 0 unless a reader that is still open reads it as a file, so that
  /// programs which copy by size do not wait for the end of a stream.
  std::uint64_t size();
  /// The reader has asked for the end: from now on it reads a file, no stream.
  void read_as_file(EventReader& reader);
  /// Up to `size` bytes; "" when there is nothing now.
  std::string read(EventReader& reader, std::uint64_t offset, std::size_t size);
  /// True when a read that goes on behind the last one would not wait.
  bool has_some(const EventReader& reader);
  /// True when a read that gives nothing is to wait for more.
  bool is_stream(const EventReader& reader);
  /// Wakes the waiter at the next change. It may be woken before this returns.
  void park(std::shared_ptr<Waiter> waiter);
  /// Wakes every waiter, closing, now and from now on: the mount has been taken away under its readers.
  void hang_up();
  /// As hang_up(), and ends the thread. The feed must be closed before.
  void close();

 private:
  void run(std::uint64_t seen);
  std::string read_stream(EventReader& reader, std::uint64_t offset, std::size_t size);
  void wake_all(bool closing);
  ChangeFeed& feed_;
  std::mutex text_mutex_;  // leaf, but for the feed's
  EventsText text_;        // guarded by text_mutex_
  // Held by each reader of the file.
  const std::shared_ptr<const bool> file_mark_ = std::make_shared<const bool>(true);
  std::mutex mutex_;                              // leaf
  std::vector<std::shared_ptr<Waiter>> waiters_;  // guarded by mutex_
  bool closed_ = false;                           // guarded by mutex_
  std::thread thread_;                            // started under mutex_
};

}  // namespace arborfs
