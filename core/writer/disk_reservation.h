// Disk space that no other process can take (Disk::reserve), for a command that is not complete yet (CONTRACT.md 4.2).
#pragma once

#include <cstdint>
#include <string>

#include "core/base/unique_fd.h"

namespace arborfs {

/// The most that a command takes of the disk.
struct RoomWanted {
  /// Beside the content of a file: blocks for a longer folder and for the map of the file's blocks.
  static constexpr std::uint64_t kBeside = 8 << 10;

  std::uint64_t bytes = 0;
  std::uint64_t files = 2;  // new ones, such as a lock and a file that replaces another
  std::string
      grown_file{};  // in the session's folder: it becomes longer by the bytes; "" if they are those of new files
};

/// Released by the destructor.

class DiskReservation {
 public:
  DiskReservation() = default;
  explicit DiskReservation(UniqueFd room) : room_(std::move(room)) {}

 private:
  UniqueFd room_;
};

}  // namespace arborfs
