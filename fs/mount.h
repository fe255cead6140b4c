// Mounting, from options to result. Used by one thread, before any other is started.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/formats/registry.h"
#include "core/session/loaded_indexes.h"
#include "core/write/writer.h"

namespace arborfs {

struct MountOptions {
  std::vector<ChosenStore> stores;  // none: the own stores of the user's agents
  std::string mountpoint;
  bool foreground = false;
  bool read_only = false;
  bool allow_other = false;
  bool xattr = false;
  bool redact = false;  // show everything without its secrets, and nothing that is not looked through; read-only
  bool inotify = true;  // false: notice changes by polling alone
  bool notify = true;   // false: never invalidate the kernel's caches; for tests that this is correct too
  bool debug = false;
  unsigned max_read = 0;                                // longest READ, in bytes; 0 for the kernel's own limit
  std::size_t index_bytes = LoadedIndexes::kMostBytes;  // for sessions that are not in use
  bool search_index = true;                             // false: searches read all texts, and nothing is cached on disk
  WriteSettings writing;
  std::string log_file;                   // "" for none, or standard error in the foreground
  std::vector<std::string> fuse_options;  // passed on to libfuse
};

/// Parses the argument of -o: words separated by commas; a backslash makes the next character literal. Options of
/// mount(8) and fstab that have no meaning here are ignored. Errors: invalid_argument, naming the option.
Result<void> parse_mount_options(std::string_view list, MountOptions& into);
Result<MountOptions> parse_mount_options(std::string_view list);

/// Mounts and serves. In the background it returns as soon as the mount works or has failed, and the process that
/// serves never returns; in the foreground it returns when unmounted or ended by a signal. `tell` gets warnings that do
/// not prevent mounting, one line each. Errors: why it cannot mount, as a message.
Result<void> run_mount(const MountOptions& options, const std::function<void(const std::string&)>& tell);

}  // namespace arborfs
