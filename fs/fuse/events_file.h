// The file `events`: one JSON line per change, for any number of readers. For a reader that reads sequentially after
// open it is a stream: it starts with the next change, and a read at the end waits. For a reader that has sought to the
// end, as tail does, it is a growing file: offsets count from the mount on, and a read at the end returns nothing. A
// waiting reader is parked without a thread; one thread serves all parked readers (it starts with the first reader),
// also those of `wait` (turn_wait.h). If a slow reader of the stream misses changes, a line reports their number.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/session/change_feed.h"
#include "fs/fuse/fuse_request.h"

namespace arborfs {

/// The text of the file `events`: one JSON line per change, from the mount on. A position in it always means the same
/// bytes, as long as they are kept; the last kMostLines lines are. Not thread-safe.
class EventsText {
 public:
  static constexpr std::size_t kMostLines = ChangeFeed::kKept;

  explicit EventsText(const ChangeFeed& feed) : feed_(feed) {}

  /// Appends the changes that the feed has published; changes that the feed has dropped become one line with their
  /// number.
  void take_in();
  /// Where the kept bytes begin and end.
  [[nodiscard]] std::uint64_t begin() const;
  [[nodiscard]] std::uint64_t end() const { return end_; }
  /// The sequence number of the first kept change; of the next one if none is kept.
  [[nodiscard]] std::uint64_t first_change() const;
  /// The sequence number of the last change whose line ends at or before `position`, 0 if it is not kept.
  [[nodiscard]] std::uint64_t last_change_until(std::uint64_t position) const;
  /// Up to `size` bytes; "" at the end. Bytes that are no longer kept read as empty lines.
  [[nodiscard]] std::string read(std::uint64_t position, std::size_t size) const;

 private:
  struct Line {
    std::uint64_t end = 0;
    std::uint64_t first = 0;  // sequence numbers of the changes in this line
    std::uint64_t last = 0;
    std::string text;
  };
  using Lines = std::deque<Line>;
  void add(std::string text, std::uint64_t first, std::uint64_t last);
  [[nodiscard]] Lines::const_iterator line_at(std::uint64_t position) const;
  const ChangeFeed& feed_;
  Lines lines_;
  std::uint64_t end_ = 0;
  std::uint64_t taken_ = 0;  // sequence number of the last appended change
};

/// The line that replaces changes that were dropped.
std::string missed_line(std::uint64_t count);

class EventsFile;

/// One open `events`. Every member is guarded by EventsFile::text_mutex_. In a stream, offsets first cover a notice of
/// missed changes, then the text from base_ on.
class EventReader {
  friend class EventsFile;
  std::shared_ptr<const bool> file_mark_;  // set for a reader of a file, null for a stream
  std::uint64_t base_ = 0;                 // a position in the text
  std::uint64_t notice_offset_ = 0;        // in the stream
  std::string notice_;
  std::uint64_t next_ = 0;    // the position in the text after the last read
  std::uint64_t seen_ = 0;    // sequence number of the last change that was read completely
  bool is_mid_line_ = false;  // after the last read
};

class EventsFile {
 public:
  /// Waits until a reader has something to read.
  class Waiter {
   public:
    virtual ~Waiter() = default;
    /// Called without locks once there may be something, each second, and when the file closes. True when done; false
    /// to keep waiting.
    virtual bool wake(bool closing) = 0;
    /// True once the request needs no answer any more.
    [[nodiscard]] virtual bool is_over() const = 0;
  };

  explicit EventsFile(ChangeFeed& feed) : feed_(feed), text_(feed) {}
  /// As close().
  ~EventsFile();
  EventsFile(const EventsFile&) = delete;
  EventsFile& operator=(const EventsFile&) = delete;

  /// Throws std::system_error if no thread can be started.
  std::shared_ptr<EventReader> open();
  /// How many bytes were written to the file since the mount; 0 unless an open reader reads it as a file, so that
  /// programs that copy by size do not wait for the end of a stream.
  std::uint64_t size();
  /// The reader has sought to the end: from now on it reads a file, not a stream.
  void read_as_file(EventReader& reader);
  /// Up to `size` bytes; "" if there are none now.
  std::string read(EventReader& reader, std::uint64_t offset, std::size_t size);
  /// True if a read at the position after the last one would not wait.
  bool has_some(const EventReader& reader);
  /// True if a read that finds nothing must wait for more.
  bool is_stream(const EventReader& reader);
  /// Wakes the waiter at the next change. It may be woken before this returns. Throws as open().
  void park(std::shared_ptr<Waiter> waiter);
  /// Wakes every waiter, present and future, with `closing`: the mount was detached while its readers were waiting.
  void hang_up();
  /// As hang_up(), and joins the thread. The feed must be closed first.
  void close();

 private:
  void start_locked(std::uint64_t seen);
  void run(std::uint64_t seen);
  std::string read_stream(EventReader& reader, std::uint64_t offset, std::size_t size);
  void wake_all(bool closing);
  ChangeFeed& feed_;
  std::mutex text_mutex_;  // only the feed's lock is taken under it
  EventsText text_;        // guarded by text_mutex_
  // Shared with each reader that reads a file.
  const std::shared_ptr<const bool> file_mark_ = std::make_shared<const bool>(true);
  std::mutex mutex_;                              // leaf
  std::vector<std::shared_ptr<Waiter>> waiters_;  // guarded by mutex_
  bool closed_ = false;                           // guarded by mutex_
  std::thread thread_;                            // started under mutex_
};

/// Parks a request, and lets the waiter that `waiter_of` makes for it answer it. Answers with an error if that fails;
/// `what` says in the log what could not be done.
void park_request(fuse_req_t req, EventsFile& events, InterruptWatch& watch, const char* what,
                  const std::function<std::shared_ptr<EventsFile::Waiter>(std::shared_ptr<ParkedRequest>)>& waiter_of);

/// Answers a read of `events` when there is something to read, the file closes, or the client gets any signal, as with
/// a pipe.
void park_events_read(fuse_req_t req, EventsFile& events, std::shared_ptr<EventReader> reader, std::uint64_t offset,
                      std::size_t size, InterruptWatch& watch);

/// The kernel's handle of a poll, which is notified once. Only the newest poll of an open file counts; earlier ones are
/// dropped. Thread-safe.
class PollHandle {
 public:
  /// Owns `handle` from here on.
  explicit PollHandle(fuse_pollhandle* handle) : handle_(handle) {}
  ~PollHandle() { drop(); }
  PollHandle(const PollHandle&) = delete;
  PollHandle& operator=(const PollHandle&) = delete;

  void notify();
  void drop();
  /// True once it was notified or dropped.
  [[nodiscard]] bool is_over() const;

 private:
  fuse_pollhandle* take();
  mutable std::mutex mutex_;  // leaf
  fuse_pollhandle* handle_;   // guarded by mutex_
};

/// A poll of `events`. Thread-safe.
class EventsPoll final : public EventsFile::Waiter {
 public:
  EventsPoll(EventsFile& events, std::shared_ptr<EventReader> reader, std::shared_ptr<PollHandle> handle)
      : events_(events), reader_(std::move(reader)), handle_(std::move(handle)) {}

  bool wake(bool closing) override;
  [[nodiscard]] bool is_over() const override { return handle_->is_over(); }

 private:
  EventsFile& events_;
  const std::shared_ptr<EventReader> reader_;
  const std::shared_ptr<PollHandle> handle_;
};

}  // namespace arborfs
