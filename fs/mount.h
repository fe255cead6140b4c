// Mounting and unmounting, from options to exit status. Used by one thread, before any other is started.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/session/loaded_indexes.h"
#include "core/writer/writer.h"

namespace arborfs {

struct MountOptions {
  std::string agent_dir;  // "" for the user's own
  std::string mountpoint;
  bool foreground = false;
  bool read_only = false;
  bool allow_other = false;
  bool xattr = false;
  bool inotify = true;  // false: notice changes by polling alone
  bool notify = true;   // false: never tell the kernel of changes; for tests that all is right without
  bool debug = false;
  unsigned max_read = 0;                                // of one READ; 0 for the kernel's own limit
  std::size_t index_bytes = LoadedIndexes::kMostBytes;  // of sessions that nobody looks at
  WriteSettings writing;
  std::string log_file;                   // "" for none, or standard error in the foreground
  std::vector<std::string> fuse_options;  // handed on to libfuse
};

/// Reads what stands behind -o, comma-separated; a backslash takes the next character as it is. Options of mount(8) and
/// fstab that mean nothing here are passed over. Errors: invalid_argument, naming the option.
Result<void> parse_mount_options(std::string_view list, MountOptions& into);
Result<MountOptions> parse_mount_options(std::string_view list);

/// Mounts and serves. In the background it returns as soon as the mount is there, or cannot be; in the foreground when
/// it has been unmounted or a signal ended it. The process that serves in the background never returns. `tell` gets
/// what is worth a word but keeps nothing from being mounted, a line each. Errors: what keeps it from being mounted, in
/// words.
Result<void> run_mount(const MountOptions& options, const std::function<void(const std::string&)>& tell);

}  // namespace arborfs
