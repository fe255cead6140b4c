// What the kernel's side of a mount needs to know. No libfuse here.
#pragma once

#include <string>
#include <vector>

namespace arborfs {

struct MountSettings {
  std::string mountpoint;                 // absolute, without symbolic links
  std::string source;                     // shown by mount(8)
  std::string sessions;                   // the folder of the store whose file system statfs tells of
  std::vector<std::string> fuse_options;  // for libfuse, each without commas of its own
  bool read_only = false;
  bool xattr = false;
  bool notify = true;
  bool debug = false;
  unsigned max_read = 0;  // libfuse wants it among its options and from init; 0 for the kernel's own limit
};

}  // namespace arborfs
