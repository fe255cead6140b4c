// Room on a disk that nobody else can take while it is held (Disk::reserve). Gone with the object.
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
