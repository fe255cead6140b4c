// The kernel's side of `events`: reads and polls that wait for changes without occupying a thread.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "fs/fuse/events_file.h"
#include "fs/fuse/fuse_request.h"

namespace arborfs {

/// Answers a read of `events` when there is something to read, the file closes, or the client gets any signal, as with
/// a pipe.
void park_events_read(fuse_req_t req, EventsFile& events, std::shared_ptr<EventReader> reader, std::uint64_t offset,
                      std::size_t size, InterruptWatch& watch);

/// A poll of `events`, which notifies once. Only the newest poll of a handle counts; earlier ones are dropped.
/// Thread-safe.
class EventsPoll final : public EventsFile::Waiter {
 public:
  /// Owns `handle` from here on.
  EventsPoll(EventsFile& events, std::shared_ptr<EventReader> reader, fuse_pollhandle* handle)
      : events_(events), reader_(std::move(reader)), handle_(handle) {}
  ~EventsPoll() override { drop(); }
  EventsPoll(const EventsPoll&) = delete;
  EventsPoll& operator=(const EventsPoll&) = delete;

  bool wake(bool closing) override;
  [[nodiscard]] bool is_over() const override;
  void drop();

 private:
  fuse_pollhandle* take();
  EventsFile& events_;
  const std::shared_ptr<EventReader> reader_;
  mutable std::mutex mutex_;  // leaf
  fuse_pollhandle* handle_;   // guarded by mutex_
};

}  // namespace arborfs
