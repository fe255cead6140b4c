#include "fs/fuse/fuse_events.h"

#include <cerrno>
#include <exception>
#include <utility>

#include "core/base/exception_log.h"

namespace arborfs {

namespace {

class EventsRead final : public EventsFile::Waiter {
 public:
  EventsRead(EventsFile& events, std::shared_ptr<EventReader> reader, std::uint64_t offset, std::size_t size,
             std::shared_ptr<ParkedRequest> request)
      : events_(events), reader_(std::move(reader)), offset_(offset), size_(size), request_(std::move(request)) {}

  bool wake(bool closing) override {
    if (request_->is_over()) {
      return true;
    }
    const std::string bytes = closing ? "" : events_.read(*reader_, offset_, size_);
    if (bytes.empty() && !closing) {
      return false;
    }
    if (fuse_req_t req = request_->claim()) {
      fuse_reply_buf(req, bytes.data(), bytes.size());
    }
    return true;
  }
  [[nodiscard]] bool is_over() const override { return request_->is_over(); }

 private:
  EventsFile& events_;
  const std::shared_ptr<EventReader> reader_;
  const std::uint64_t offset_;
  const std::size_t size_;
  const std::shared_ptr<ParkedRequest> request_;
};

}  // namespace

void park_events_read(fuse_req_t req, EventsFile& events, std::shared_ptr<EventReader> reader, std::uint64_t offset,
                      std::size_t size, InterruptWatch& watch) {
  auto parked = ParkedRequest::park(req, EndsBy::any_signal, watch);
  try {
    events.park(std::make_shared<EventsRead>(events, std::move(reader), offset, size, parked));
  } catch (const std::exception&) {
    parked->refuse(errno_of_thrown("cannot park a reader of events"));
  }
}

bool EventsPoll::wake(bool closing) {
  if (!closing && !events_.has_some(*reader_)) {
    return is_over();
  }
  if (fuse_pollhandle* handle = take()) {
    fuse_lowlevel_notify_poll(handle);
    fuse_pollhandle_destroy(handle);
  }
  return true;
}

bool EventsPoll::is_over() const {
  const std::lock_guard lock(mutex_);
  return handle_ == nullptr;
}

void EventsPoll::drop() {
  if (fuse_pollhandle* handle = take()) {
    fuse_pollhandle_destroy(handle);
  }
}

fuse_pollhandle* EventsPoll::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(handle_, nullptr);
}

}  // namespace arborfs
