// Where arborfs keeps data that belongs in no store: $XDG_STATE_HOME/arborfs, else ~/.local/state/arborfs, the trash
// under $XDG_DATA_HOME/arborfs, and the search index under $XDG_CACHE_HOME/arborfs. Folders are created when first
// needed, accessible to their owner only (FAILURES.md S12). Reads the environment; any thread, provided that none calls
// setenv meanwhile.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/os/disk.h"

namespace arborfs {

/// The path of `below` in the folder. `below` is one component such as "trash", or "" for the folder itself.
std::string state_path(const std::string& below);
std::string data_path(const std::string& below);
std::string cache_path(const std::string& below);
std::string config_path(const std::string& below);
/// The name of the state file for one log of one store: a hash of both, so that it survives a rename of the folder.
std::string state_file_name(const std::string& store_key, const std::string& log_name);
/// Opens a folder that must belong to this user. Errors: not_found; permission if it belongs to another user, who could
/// have put anything into it.
Result<Dir> open_private_folder(const std::string& path);
/// The same, but first creates the folder and its missing parents with mode 0700. With `sync` the new names are on the
/// disk on return. Errors also: permission if they would have to be created in a folder of another user other than
/// root. With HOME kept by `sudo -E`, root's folders there would block the user who owns that home.
Result<Dir> make_private_folder(Disk& disk, const std::string& path, bool sync = true);
/// Replaces the content of a file with `text`, atomically; with `sync` it is on the disk on return. On an error the
/// file is unchanged, unless only the final sync of the folder failed. Errors: those of the disk.
Result<void> replace_private_file(Disk& disk, const Dir& folder, const std::string& name, std::string_view text,
                                  bool sync = true);
/// Such a file, open for appending; creates it. Errors: those of the disk.
Result<File> open_private_lines(Disk& disk, const Dir& folder, const std::string& name);
/// The stat of this open file, if the path leads to it: no other process has replaced the file, or removed it. Hard
/// links, and NFS while it is open, keep a link of such a file, so its count of links does not tell.
std::optional<FileStat> stat_if_at(const std::string& path, const File& file);
/// After so many, a file is used as it is: there are file systems whose numbers of files change.
inline constexpr int kMostOpened = 3;
/// The content of such a file; "" if it does not exist. Errors: too_large, and those of opening and reading it.
Result<std::string> read_private_file(const Dir& folder, const std::string& name);

/// Locks a state folder, or an open file there, against other processes and other descriptors of it while it lives. It
/// is held only briefly; the wait is limited, so that a process that was stopped while holding it does not block the
/// others. `folder`, or the descriptor, outlives it.
class FolderLock {
 public:
  explicit FolderLock(const Dir& folder, std::chrono::milliseconds patience = std::chrono::milliseconds(500))
      : FolderLock(folder.fd(), patience) {}
  FolderLock(int fd, std::chrono::milliseconds patience);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  [[nodiscard]] bool is_held() const { return is_held_; }

 private:
  const int fd_;
  bool is_held_ = false;
};

}  // namespace arborfs
