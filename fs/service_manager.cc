#include "fs/service_manager.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "core/base/log.h"
#include "core/base/unique_fd.h"

namespace arborfs {

namespace {

constexpr const char* kVariable = "NOTIFY_SOCKET";

}  // namespace

ServiceManager::ServiceManager() {
  const char* const named = std::getenv(kVariable);
  if (named != nullptr && (named[0] == '/' || named[0] == '@') && std::strlen(named) < sizeof(sockaddr_un::sun_path)) {
    socket_ = named;
  }
  ::unsetenv(kVariable);
}

void ServiceManager::tell(std::string_view assignment) const {
  if (socket_.empty()) {
    return;
  }
  constexpr timeval kPatience{5, 0};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_.copy(address.sun_path, socket_.size());
  if (socket_.front() == '@') {
    address.sun_path[0] = '\0';
  }
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  const ssize_t sent = ::sendto(fd.get(), assignment.data(), assignment.size(), MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), length);
  if (sent < 0) {
    write_log(LogLevel::warning, "cannot reach the service manager");
  }
}

}  // namespace arborfs
