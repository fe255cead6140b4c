#include "fs/fuse/turn_wait.h"

#include <exception>
#include <utility>

#include "core/base/log.h"
#include "fs/fuse/errno_map.h"

namespace arborfs {

std::optional<Result<std::string>> TurnReader::text() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

void TurnReader::start_look(const std::shared_ptr<TurnReader>& self, std::function<void()> then) {
  if (self->is_looking_.exchange(true)) {
    return;
  }
  try {
    self->calls_.submit([self, then = std::move(then)](std::stop_source&) {
      self->look();
      self->is_looking_ = false;
      if (then) {
        then();
      }
    });
  } catch (const std::exception&) {
    self->is_looking_ = false;  // the next wake tries again
    log_exception("cannot look at a turn");
  }
}

void TurnReader::look() noexcept {
  try {
    if (text()) {
      return;
    }
    const auto state = calls_.look();
    if (!state || !state->is_open()) {
      const std::lock_guard lock(mutex_);
      text_ = state ? Result<std::string>(turn_line(*state) + "\n") : Result<std::string>(state.error());
    }
  } catch (const std::exception&) {
    log_exception("cannot look at a turn");
  }
}

bool TurnWaiter::wake(bool closing) {
  if (is_over()) {
    return true;
  }
  if (closing) {
    answer(std::string());
    return true;
  }
  if (const auto known = reader_->text()) {
    answer(*known);
    return true;
  }
  TurnReader::start_look(reader_, [self = shared_from_this()] {
    if (const auto known = self->reader_->text()) {
      self->answer(*known);
    }
  });
  return is_over();
}

namespace {

class TurnRead final : public TurnWaiter {
 public:
  TurnRead(std::shared_ptr<TurnReader> reader, std::uint64_t offset, std::size_t size,
           std::shared_ptr<ParkedRequest> request)
      : TurnWaiter(std::move(reader)), offset_(offset), size_(size), request_(std::move(request)) {}
  [[nodiscard]] bool is_over() const override { return request_->is_over(); }

 protected:
  void answer(const Result<std::string>& text) override {
    if (fuse_req_t req = request_->claim()) {
      if (!text) {
        fuse_reply_err(req, errno_of(text.error().code));
        return;
      }
      const std::size_t from = std::min<std::uint64_t>(offset_, text->size());
      fuse_reply_buf(req, text->data() + from, std::min(size_, text->size() - from));
    }
  }

 private:
  const std::uint64_t offset_;
  const std::size_t size_;
  const std::shared_ptr<ParkedRequest> request_;
};

}  // namespace

void park_turn_read(fuse_req_t req, EventsFile& events, std::shared_ptr<TurnReader> reader, std::uint64_t offset,
                    std::size_t size, InterruptWatch& watch) {
  park_request(req, events, watch, "cannot park a reader of wait", [&](std::shared_ptr<ParkedRequest> parked) {
    return std::make_shared<TurnRead>(std::move(reader), offset, size, std::move(parked));
  });
}

}  // namespace arborfs
