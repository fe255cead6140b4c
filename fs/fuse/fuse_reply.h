// Converts answers to the kernel's structures. No state; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fs/fuse/fuse_request.h"
#include "fs/nodes/directory_snapshot.h"
#include "fs/tree/attr.h"

namespace arborfs {

/// Seconds for which the kernel may cache an answer.
double seconds_of(CacheTtl life);
struct stat stat_of(const Attr& attr);
fuse_entry_param entry_of(const Found& found);
/// An answer that the name will never exist.
fuse_entry_param no_entry();

/// The answer to one readdir or readdirplus, filled item by item.
class DirBuffer {
 public:
  DirBuffer(std::size_t size, bool with_attributes) : bytes_(size), with_attributes_(with_attributes) {}
  /// False if the item does not fit.
  bool add(const DirectoryItem& item);
  [[nodiscard]] std::string_view bytes() const { return {bytes_.data(), used_}; }
  /// The node of the last item; no node if there is none.
  [[nodiscard]] NodeId last() const { return last_; }

 private:
  std::vector<char> bytes_;
  std::size_t used_ = 0;
  bool with_attributes_;
  NodeId last_;
  std::string name_;
};

}  // namespace arborfs
