#include "fs/mount_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <utility>

#include "fs/mountpoint.h"

namespace arborfs {

MountWatch::MountWatch(std::string mountpoint, std::function<void()> on_gone)
    : mountpoint_(std::move(mountpoint)),
      on_gone_(std::move(on_gone)),
      table_(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (table_ && stop_ && mount_at(mountpoint_)) {
    thread_ = std::thread([this] { run(); });
  }
}

MountWatch::~MountWatch() {
  if (thread_.joinable()) {
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }
}

/// The kernel marks the table as exceptional whenever something is mounted or unmounted.
void MountWatch::run() {
  for (;;) {
    std::array<pollfd, 2> fds{{{stop_.get(), POLLIN, 0}, {table_.get(), POLLPRI, 0}}};
    ::poll(fds.data(), fds.size(), -1);
    if ((fds[0].revents & POLLIN) != 0) {
      return;
    }
    const auto entry = mount_at(mountpoint_);
    if (!entry || !is_arborfs(*entry)) {
      on_gone_();
      return;
    }
  }
}

}  // namespace arborfs
