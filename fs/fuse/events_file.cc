#include "fs/fuse/events_file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "core/base/log.h"

namespace arborfs {

namespace {

constexpr std::size_t kChangesARead = 64;
constexpr std::chrono::milliseconds kTick{1000};  // an agent may end without a change of a log

}  // namespace

std::string missed_line(std::uint64_t count) {
  return "{\"event\":\"missed\",\"count\":" + std::to_string(count) + "}\n";
}

void EventsText::take_in() {
  for (bool has_more = true; has_more;) {
    std::uint64_t missed = 0;
    const auto changes = feed_.after(taken_, kChangesARead, &missed);
    if (missed != 0) {
      add(missed_line(missed), taken_ + 1, taken_ + missed);
    }
    for (const auto& change : changes) {
      add(change_line(change), change.sequence, change.sequence);
    }
    has_more = changes.size() == kChangesARead;
  }
}

void EventsText::add(std::string text, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t end = end_ + text.size();
  lines_.push_back({end, first, last, std::move(text)});
  end_ = end;
  taken_ = last;
  if (lines_.size() > kMostLines) {
    lines_.pop_front();
  }
}

std::uint64_t EventsText::begin() const {
  return lines_.empty() ? end_ : lines_.front().end - lines_.front().text.size();
}

std::uint64_t EventsText::first_change() const {
  return lines_.empty() ? taken_ + 1 : lines_.front().first;
}

/// The first line that ends after a position.
EventsText::Lines::const_iterator EventsText::line_at(std::uint64_t position) const {
  return std::upper_bound(lines_.begin(), lines_.end(), position,
                          [](std::uint64_t wanted, const Line& line) { return wanted < line.end; });
}

std::uint64_t EventsText::last_change_until(std::uint64_t position) const {
  const auto behind = line_at(position);
  return behind == lines_.begin() ? 0 : std::prev(behind)->last;
}

std::string EventsText::read(std::uint64_t position, std::size_t size) const {
  if (position < begin()) {
    return std::string(std::min<std::uint64_t>(size, begin() - position), '\n');
  }
  std::string bytes;
  for (auto line = line_at(position); line != lines_.end() && bytes.size() < size; ++line) {
    const std::uint64_t skipped = position + bytes.size() - (line->end - line->text.size());
    bytes.append(line->text, skipped, size - bytes.size());
  }
  return bytes;
}

namespace {

/// A reader that cannot be answered for lack of memory is woken again with the next change.
bool is_woken(EventsFile::Waiter& waiter, bool closing) {
  try {
    return waiter.is_over() || waiter.wake(closing);
  } catch (const std::bad_alloc&) {
    log_exception("cannot wake a reader of events");
    return waiter.is_over();
  }
}

}  // namespace

EventsFile::~EventsFile() {
  close();
}

void EventsFile::start_locked(std::uint64_t seen) {
  if (!closed_ && !thread_.joinable()) {
    thread_ = std::thread([this, seen] { run(seen); });
  }
}

std::shared_ptr<EventReader> EventsFile::open() {
  const std::uint64_t cursor = feed_.last_sequence();
  const std::lock_guard lock(mutex_);
  start_locked(cursor);
  auto reader = std::make_shared<EventReader>();
  const std::lock_guard text_lock(text_mutex_);
  text_.take_in();
  reader->base_ = reader->next_ = text_.end();
  reader->seen_ = text_.last_change_until(text_.end());
  return reader;
}

std::uint64_t EventsFile::size() {
  const std::lock_guard lock(text_mutex_);
  if (file_mark_.use_count() == 1) {
    return 0;
  }
  text_.take_in();
  return text_.end();
}

void EventsFile::read_as_file(EventReader& reader) {
  const std::lock_guard lock(text_mutex_);
  reader.file_mark_ = file_mark_;
}

std::string EventsFile::read(EventReader& reader, std::uint64_t offset, std::size_t size) {
  const std::lock_guard lock(text_mutex_);
  text_.take_in();
  return reader.file_mark_ ? text_.read(offset, size) : read_stream(reader, offset, size);
}

/// Offsets matter, because a shell reads more than a line and then seeks back to the end of the line.
std::string EventsFile::read_stream(EventReader& reader, std::uint64_t offset, std::size_t size) {
  if (offset < reader.notice_offset_) {
    return std::string(std::min<std::uint64_t>(size, reader.notice_offset_ - offset), '\n');
  }
  const std::uint64_t notice_end = reader.notice_offset_ + reader.notice_.size();
  if (offset < notice_end) {
    return reader.notice_.substr(offset - reader.notice_offset_, size);
  }
  const std::uint64_t position = reader.base_ + (offset - notice_end);
  if (position < text_.begin()) {
    const std::uint64_t first = text_.first_change();
    reader.notice_ = (reader.is_mid_line_ ? "\n" : "") + missed_line(first - reader.seen_ - 1);
    reader.notice_offset_ = offset;
    reader.base_ = reader.next_ = text_.begin();
    reader.seen_ = first - 1;
    reader.is_mid_line_ = false;
    return reader.notice_.substr(0, size);
  }
  std::string bytes = text_.read(position, size);
  if (!bytes.empty()) {
    reader.next_ = position + bytes.size();
    reader.seen_ = std::max(reader.seen_, text_.last_change_until(reader.next_));
    reader.is_mid_line_ = bytes.back() != '\n';
  }
  return bytes;
}

bool EventsFile::has_some(const EventReader& reader) {
  const std::lock_guard lock(text_mutex_);
  text_.take_in();
  return reader.file_mark_ || reader.next_ < text_.end();
}

bool EventsFile::is_stream(const EventReader& reader) {
  const std::lock_guard lock(text_mutex_);
  return !reader.file_mark_;
}

void EventsFile::park(std::shared_ptr<Waiter> waiter) {
  const std::uint64_t seen = feed_.last_sequence();
  bool closing = false;
  {
    const std::lock_guard lock(mutex_);
    start_locked(seen);
    closing = closed_;
    if (!closing) {
      std::erase_if(waiters_, [](const auto& other) { return other->is_over(); });
      waiters_.push_back(waiter);
    }
  }
  // A change that was published before it was parked would not wake it.
  if (waiter->wake(closing)) {
    const std::lock_guard lock(mutex_);
    std::erase(waiters_, waiter);
  }
}

void EventsFile::wake_all(bool closing) {
  std::vector<std::shared_ptr<Waiter>> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiters_);
  }
  std::erase_if(waiting, [&](const auto& waiter) { return is_woken(*waiter, closing); });
  const std::lock_guard lock(mutex_);
  waiting.swap(waiters_);
  try {
    waiters_.insert(waiters_.end(), waiting.begin(), waiting.end());
  } catch (const std::bad_alloc&) {
    log_exception("cannot wake new readers of events");
  }
}

void EventsFile::run(std::uint64_t seen) {
  while (feed_.wait(seen, kTick)) {
    seen = feed_.last_sequence();
    wake_all(false);
  }
}

void EventsFile::hang_up() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  wake_all(true);
}

void EventsFile::close() {
  hang_up();
  if (thread_.joinable()) {
    thread_.join();
  }
  wake_all(true);  // those that the thread was just waking
}

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

void park_request(fuse_req_t req, EventsFile& events, InterruptWatch& watch, const char* what,
                  const std::function<std::shared_ptr<EventsFile::Waiter>(std::shared_ptr<ParkedRequest>)>& waiter_of) {
  auto parked = ParkedRequest::park(req, EndsBy::any_signal, watch);
  try {
    events.park(waiter_of(parked));
  } catch (const std::exception&) {
    parked->refuse(errno_of_thrown(what));
  }
}

void park_events_read(fuse_req_t req, EventsFile& events, std::shared_ptr<EventReader> reader, std::uint64_t offset,
                      std::size_t size, InterruptWatch& watch) {
  park_request(req, events, watch, "cannot park a reader of events", [&](std::shared_ptr<ParkedRequest> parked) {
    return std::make_shared<EventsRead>(events, std::move(reader), offset, size, std::move(parked));
  });
}

bool EventsPoll::wake(bool closing) {
  if (!closing && !events_.has_some(*reader_)) {
    return is_over();
  }
  handle_->notify();
  return true;
}

void PollHandle::notify() {
  if (fuse_pollhandle* handle = take()) {
    fuse_lowlevel_notify_poll(handle);
    fuse_pollhandle_destroy(handle);
  }
}

bool PollHandle::is_over() const {
  const std::lock_guard lock(mutex_);
  return handle_ == nullptr;
}

void PollHandle::drop() {
  if (fuse_pollhandle* handle = take()) {
    fuse_pollhandle_destroy(handle);
  }
}

fuse_pollhandle* PollHandle::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(handle_, nullptr);
}

}  // namespace arborfs
