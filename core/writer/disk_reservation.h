// Disk space that no other process can take (Disk::reserve), for a command that is not complete yet (CONTRACT.md 4.2).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/unique_fd.h"
#include "core/os/file.h"

namespace arborfs {

/// The most that a command takes of the disk.
struct RoomWanted {
  /// Beside the content of a file: blocks for a longer folder and for the map of the file's blocks.
  static constexpr std::uint64_t kBeside = 8 << 10;

  std::uint64_t bytes = 0;
  std::uint64_t files = 2;  // new ones, such as a lock and a file that replaces another
  std::string
      grown_file{};  // in the session's folder: it becomes longer by the bytes; "" if they are those of new files

  /// Of an agent that keeps a session in one or two files, perhaps in a folder of its own or of its project.
  static RoomWanted for_new_session(std::uint64_t bytes) { return {bytes + 4 * kBeside, 4}; }
};

/// Room in the file system of a folder.
struct RoomAt {
  Dir folder;
  RoomWanted wanted;
};

/// Released by the destructor.

class DiskReservation {
 public:
  DiskReservation() = default;
  /// Adds room to it.
  void add(UniqueFd room) { rooms_.push_back(std::move(room)); }

 private:
  std::vector<UniqueFd> rooms_;
};

}  // namespace arborfs
