#include "core/os/held_locks.h"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

namespace arborfs {

// A line is `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`. The second word of a process that waits is `->`.
std::set<std::uint64_t> inodes_flocked_elsewhere() {
  std::set<std::uint64_t> found;
  const std::string self = std::to_string(::getpid());
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number;
    std::string kind;
    std::string advisory;
    std::string mode;
    std::string process;
    std::string place;
    words >> number >> kind >> advisory >> mode >> process >> place;
    const char* const end = place.data() + place.size();
    std::uint64_t inode = 0;
    const auto [stopped, failed] = std::from_chars(place.data() + place.rfind(':') + 1, end, inode);
    if (kind == "FLOCK" && process != self && failed == std::errc() && stopped == end) {
      found.insert(inode);
    }
  }
  return found;
}

bool is_flocked_elsewhere(const FileStat& file) {
  return inodes_flocked_elsewhere().contains(file.ino);
}

}  // namespace arborfs
