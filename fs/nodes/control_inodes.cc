#include "fs/nodes/control_inodes.h"

namespace arborfs {

NodeId ControlInodes::numbered(NodeId inode, std::uint32_t number) {
  return inode.kind() == Kind::control ? NodeId(Kind::control, inode.slot(), number * kVerbs + verb_place(inode))
                                       : inode;
}

NodeId ControlInodes::free_inode(NodeId control) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(first_inode(control));
  if (found == files_.end()) {
    if (unopened_.control != first_inode(control)) {
      unopened_ = {first_inode(control), 0};
    }
    const NodeId inode = numbered(control, unopened_.next);
    unopened_.next = (unopened_.next + 1) % kCount;
    return inode;
  }
  File& file = found->second;
  for (std::uint32_t tried = 0; tried < kCount && file.inside.contains(file.next); ++tried) {
    file.next = (file.next + 1) % kCount;
  }
  const NodeId inode = numbered(control, file.next);
  file.next = (file.next + 1) % kCount;
  return inode;
}

void ControlInodes::enter(NodeId inode) {
  const std::lock_guard lock(mutex_);
  File& file = files_[first_inode(inode)];
  ++file.inside[number_of(inode)];
  if (unopened_.control == first_inode(inode)) {
    file.next = unopened_.next;
    unopened_ = {};
  }
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
