#include "fs/fuse/hung_mount.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/unique_fd.h"

namespace arborfs {

namespace {

constexpr std::chrono::seconds kAnswerPatience{5};

bool abort_with_control_file(const MountEntry& mount) {
  const std::string path = "/sys/fs/fuse/connections/" + mount.minor + "/abort";
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), "1", 1) == 1;
}

}  // namespace

/// Asks in a thread, which ends with the process at the latest: a signal frees a request that nobody has read.
bool answers(const std::string& path) {
  std::promise<void> answered;
  const auto answer = answered.get_future();
  try {
    std::thread([path, answered = std::move(answered)]() mutable {
      struct statvfs st {};
      static_cast<void>(::statvfs(path.c_str(), &st));
      answered.set_value();
    }).detach();
  } catch (const std::system_error&) {
    return true;  // the caller finds out by itself
  }
  return answer.wait_for(kAnswerPatience) == std::future_status::ready;
}

void abort_connection(const MountEntry& mount) {
  if (!abort_with_control_file(mount)) {
    ::umount2(mount.path.c_str(), MNT_FORCE | UMOUNT_NOFOLLOW);  // even if it fails with EBUSY
  }
}

}  // namespace arborfs
