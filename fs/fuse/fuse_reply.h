// Answers in the kernel's words. No state; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fs/fuse/fuse_request.h"
#include "fs/tree/attr.h"
#include "fs/tree/directory_snapshot.h"

namespace arborfs {

/// Seconds for which the kernel may believe an answer.
double seconds_of(CacheTtl life);
struct stat stat_of(const Attr& attr);
fuse_entry_param entry_of(const Found& found);
/// Says that a name will never be there.
fuse_entry_param no_entry();

/// One answer to readdir or readdirplus being filled.
class DirBuffer {
 public:
  DirBuffer(std::size_t size, bool with_attributes) : bytes_(size), with_attributes_(with_attributes) {}
  /// False when the item no longer fits.
  bool add(const DirectoryItem& item);
  [[nodiscard]] std::string_view bytes() const { return {bytes_.data(), used_}; }
  /// What the last name leads to; no node before there is one.
  [[nodiscard]] NodeId last() const { return last_; }

 private:
  std::vector<char> bytes_;
  std::size_t used_ = 0;
  bool with_attributes_;
  NodeId last_;
  std::string name_;
};

}  // namespace arborfs
