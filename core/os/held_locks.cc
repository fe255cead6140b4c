#include "core/os/held_locks.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace arborfs {

// A line is `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`. The second word of a process that waits is `->`.
bool is_flocked_elsewhere(const FileStat& file) {
  const std::string inode = std::to_string(file.ino);
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
    if (kind == "FLOCK" && process != self && place.substr(place.rfind(':') + 1) == inode) {
      return true;
    }
  }
  return false;
}

}  // namespace arborfs
