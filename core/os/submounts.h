// Mounts that may hang although other folders do not, and whether they answer.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "core/base/hanging_work.h"

namespace arborfs {

/// The names in `folder` at or below which something is mounted. Uses only the kernel's mount list, so it waits for no
/// file system but that of `folder`.
std::set<std::string> mounts_below(const std::string& folder);

/// The same, from the text of /proc/self/mountinfo and for a path without symbolic links.
std::set<std::string> mounts_below(std::string_view mountinfo, const std::string& real_folder);

/// The mount points of file systems that another process or another machine serves (FUSE, network). Without /: if that
/// hangs, so does every program. Waits for no file system.
std::set<std::string> mounts_served_elsewhere();
/// The same, from the text of /proc/self/mountinfo.
std::set<std::string> mounts_served_elsewhere(std::string_view mountinfo);

/// The places where file systems of this type are mounted, such as "fuse.arborfs". Waits for no file system.
std::set<std::string> mount_points_of(std::string_view type);
/// The same, from the text of /proc/self/mountinfo.
std::set<std::string> mount_points_of(std::string_view mountinfo, std::string_view type);

/// Whether the file systems of some folders answer now. Thread-safe; mutex_ is a leaf.
class FolderPulse {
 public:
  /// A file system that has not answered for so long hangs. One far away, or on a busy machine, needs a part of it.
  static constexpr std::chrono::milliseconds kPatience{400};
  static constexpr std::chrono::milliseconds kFresh{100};

  /// Those of `folders` whose file systems do not answer. Asks them all at once, and so waits for kPatience at most;
  /// not at all for one that has been silent for so long already. An error is an answer.
  std::set<std::string> silent(const std::set<std::string>& folders);

 private:
  using Beat = PatientAsk<bool>;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Beat>> beats_;  // of every folder that was ever asked; guarded by mutex_
};

}  // namespace arborfs
