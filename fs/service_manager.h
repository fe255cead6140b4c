// Reports progress to the service manager that started this process, by the protocol of sd_notify(3): a systemd unit of
// Type=notify counts as started once the mount works.
#pragma once

#include <string>
#include <string_view>

namespace arborfs {

class ServiceManager {
 public:
  /// Reads NOTIFY_SOCKET and removes it from the environment: programs started by this one are not part of the service.
  /// Call it before other threads start.
  ServiceManager();
  /// Sends an assignment such as READY=1. Does nothing if there is no service manager.
  void tell(std::string_view assignment) const;

 private:
  std::string socket_;  // "" for none; one that begins with '@' is abstract
};

}  // namespace arborfs
