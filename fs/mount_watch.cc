#include "fs/mount_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <new>
#include <utility>

#include "fs/fuse/mountpoint.h"

namespace arborfs {

MountWatch::MountWatch(std::string mountpoint, std::function<void()> on_gone)
    : mountpoint_(std::move(mountpoint)),
      on_gone_(std::move(on_gone)),
      table_(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  const auto table = table_ && stop_ ? read_table() : std::nullopt;
  if (const auto entry = table ? mount_in(*table, mountpoint_) : std::nullopt) {
    mount_ = entry->id;
    thread_ = std::thread([this] { run(); });
  }
}

MountWatch::~MountWatch() {
  if (thread_.joinable()) {
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }
}

/// Empty if the table cannot be read completely now.
std::optional<std::string> MountWatch::read_table() const {
  try {
    std::string text;
    std::array<char, 4096> piece;
    for (;;) {
      const ssize_t got = ::pread(table_.get(), piece.data(), piece.size(), static_cast<off_t>(text.size()));
      if (got <= 0) {
        return got == 0 ? std::optional(std::move(text)) : std::nullopt;
      }
      text.append(piece.data(), static_cast<std::size_t>(got));
    }
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

/// poll(2) reports POLLPRI for the table whenever something is mounted or unmounted.
void MountWatch::run() {
  constexpr int kForever = -1;
  constexpr int kLookAgain = 1000;
  for (int wait = kForever;;) {
    std::array<pollfd, 2> fds{{{stop_.get(), POLLIN, 0}, {table_.get(), POLLPRI, 0}}};
    ::poll(fds.data(), fds.size(), wait);
    if ((fds[0].revents & POLLIN) != 0) {
      return;
    }
    const auto table = read_table();
    const auto entry = table ? mount_in(*table, mountpoint_) : std::nullopt;
    if (table && (!entry || entry->id != mount_)) {
      on_gone_();
      return;
    }
    wait = table ? kForever : kLookAgain;
  }
}

}  // namespace arborfs
