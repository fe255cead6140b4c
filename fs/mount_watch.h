// Notices that the mount was detached while still in use (a lazy unmount), so that readers that wait for events, which
// nothing can reach any more, do not keep the daemon alive forever.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "core/base/unique_fd.h"

namespace arborfs {

class MountWatch {
 public:
  /// Starts a thread, which calls `on_gone` once. Does nothing if the mount is not in mountinfo.
  MountWatch(std::string mountpoint, std::function<void()> on_gone);
  /// Stops and joins.
  ~MountWatch();
  MountWatch(const MountWatch&) = delete;
  MountWatch& operator=(const MountWatch&) = delete;

 private:
  void run();
  [[nodiscard]] std::optional<std::string> read_table() const;
  const std::string mountpoint_;
  std::string mount_;  // its id
  const std::function<void()> on_gone_;
  UniqueFd table_;
  UniqueFd stop_;
  std::thread thread_;
};

}  // namespace arborfs
