#include "core/os/folder_pulse.h"

#include <sys/statvfs.h>

#include <utility>
#include <vector>

namespace arborfs {

namespace {

/// No cache of the kernel answers statfs(2) for a network file system or a FUSE daemon.
bool ask(const std::string& folder) {
  struct statvfs space {};
  return ::statvfs(folder.c_str(), &space) == 0;
}

}  // namespace

std::set<std::string> FolderPulse::silent(const std::set<std::string>& folders) {
  std::vector<std::pair<std::string, std::shared_ptr<Beat>>> asked;
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& folder : folders) {
      auto& beat = beats_[folder];
      if (!beat) {
        beat = std::make_shared<Beat>([folder] { return ask(folder); }, kPatience, kFresh);
      }
      asked.emplace_back(folder, beat);
    }
  }
  for (const auto& [folder, beat] : asked) {
    beat->begin();
  }
  std::set<std::string> found;
  for (const auto& [folder, beat] : asked) {
    if (beat->now().is_late) {
      found.insert(folder);
    }
  }
  return found;
}

}  // namespace arborfs
