// Disk space that no other process can take (Disk::reserve). Released by the destructor.
#pragma once

#include "core/base/unique_fd.h"

namespace arborfs {

class DiskReservation {
 public:
  DiskReservation() = default;
  explicit DiskReservation(UniqueFd room) : room_(std::move(room)) {}

 private:
  UniqueFd room_;
};

}  // namespace arborfs
