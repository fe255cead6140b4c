#include "tools/arborfs/progress.h"

#include <fmt/format.h>

namespace arborfs::cli {
namespace {

constexpr std::chrono::milliseconds kBetween{200};
constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

Progress::Progress(Terminal& io, std::string doing, std::size_t total, std::chrono::milliseconds patience)
    : io_(io), doing_(std::move(doing)), total_(total) {
  if (io_.err_is_terminal) {
    thread_ = std::thread([this, patience] { run(patience); });
  }
}

void Progress::step() {
  const std::lock_guard lock(mutex_);
  ++count_;
}

void Progress::done() {
  if (!thread_.joinable()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (shown_) {
    io_.err << kClearLine << std::flush;
  }
}

void Progress::show() {
  shown_ = true;
  io_.err << kClearLine << doing_;
  if (total_ > 0) {
    io_.err << fmt::format(" {} of {}", count_, total_);
  }
  io_.err << " …" << std::flush;
}

void Progress::run(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  auto pause = patience;
  while (!wake_.wait_for(lock, pause, [this] { return done_; })) {
    show();
    pause = kBetween;
  }
}

}  // namespace arborfs::cli
