#include "fs/tree/control_inodes.h"

namespace arborfs {

NodeId ControlInodes::numbered(NodeId inode, std::uint32_t number) {
  return inode.kind() == Kind::control ? NodeId(Kind::control, inode.slot(), number * kVerbs + verb_place(inode))
                                       : inode;
}

NodeId ControlInodes::free_inode(NodeId control) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(first_inode(control));
  if (found == files_.end()) {
    return first_inode(control);
  }
  File& file = found->second;
  for (std::uint32_t tried = 0; tried < kCount && file.inside.contains(file.next); ++tried) {
    file.next = (file.next + 1) % kCount;
  }
  return numbered(control, file.next);
}

void ControlInodes::enter(NodeId inode) {
  const std::lock_guard lock(mutex_);
  ++files_[first_inode(inode)].inside[number_of(inode)];
}

void ControlInodes::leave(NodeId inode) {
  const std::lock_guard lock(mutex_);
  const auto file = files_.find(first_inode(inode));
  const auto count = file->second.inside.find(number_of(inode));
  if (--count->second == 0) {
    file->second.inside.erase(count);
  }
  if (file->second.inside.empty()) {
    files_.erase(file);
  }
}

}  // namespace arborfs
