// The settings of the kernel's side of a mount. Does not use libfuse.
#pragma once

#include <string>
#include <vector>

namespace arborfs {

struct MountSettings {
  std::string mountpoint;                 // absolute, without symbolic links
  std::string source;                     // shown by mount(8)
  std::string sessions;                   // the folder of the store whose file system statfs reports
  std::vector<std::string> fuse_options;  // for libfuse, each without commas
  bool read_only = false;
  bool xattr = false;
  bool notify = true;
  bool debug = false;
  unsigned max_read = 0;  // bytes; libfuse needs it as an option and in init; 0 for the kernel's own limit
};

}  // namespace arborfs
