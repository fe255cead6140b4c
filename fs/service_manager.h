// Tells the service manager that started this process how it is getting on, by the protocol of sd_notify(3): so that a
// systemd unit of Type=notify counts as started once the mount works.
#pragma once

#include <string>
#include <string_view>

namespace arborfs {

class ServiceManager {
 public:
  /// Reads NOTIFY_SOCKET and takes it out of the environment: programs that this one starts are no part of the service.
  /// Call it before other threads start.
  ServiceManager();
  /// Sends an assignment such as READY=1. Does nothing where no service manager listens.
  void tell(std::string_view assignment) const;

 private:
  std::string socket_;  // "" for none; one that begins with '@' is abstract
};

}  // namespace arborfs
