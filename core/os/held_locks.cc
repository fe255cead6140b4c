#include "core/os/held_locks.h"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace arborfs {

namespace {

struct Lock {
  std::uint64_t inode = 0;
  long process = 0;  // 0 if it is in another namespace
};

// A line is `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`. The second word of a process that waits is `->`.
std::vector<Lock> locks_elsewhere() {
  std::vector<Lock> found;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number;
    std::string kind;
    std::string advisory;
    std::string mode;
    long process = 0;
    std::string place;
    words >> number >> kind >> advisory >> mode >> process >> place;
    const char* const end = place.data() + place.size();
    std::uint64_t inode = 0;
    const auto [stopped, failed] = std::from_chars(place.data() + place.rfind(':') + 1, end, inode);
    if (kind == "FLOCK" && process != ::getpid() && failed == std::errc() && stopped == end) {
      found.push_back({inode, process});
    }
  }
  return found;
}

}  // namespace

std::set<std::uint64_t> inodes_flocked_elsewhere() {
  std::set<std::uint64_t> inodes;
  for (const Lock& lock : locks_elsewhere()) {
    inodes.insert(lock.inode);
  }
  return inodes;
}

std::optional<long> flock_holder_elsewhere(const FileStat& file) {
  for (const Lock& lock : locks_elsewhere()) {
    if (lock.inode == file.ino) {
      return lock.process;
    }
  }
  return std::nullopt;
}

}  // namespace arborfs
