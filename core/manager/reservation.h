// Room on a disk that nobody else can take while it is held: an unnamed file beside the log. Gone with the object.
#pragma once

#include <cstdint>

#include "core/base/unique_fd.h"

namespace arborfs {

class Reservation {
 public:
  Reservation() = default;
  explicit Reservation(UniqueFd file, std::uint64_t bytes) : file_(std::move(file)), bytes_(bytes) {}
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  UniqueFd file_;
  std::uint64_t bytes_ = 0;
};

}  // namespace arborfs
