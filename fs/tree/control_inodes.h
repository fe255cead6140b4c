// Which inode the name of a control file leads to (control_nodes in nodes.h). The kernel admits one writer to an inode
// at a time, so each control file of a session has many inodes, and a lookup gets one that nobody has open. All of them
// have the same attributes, st_ino included.
//
// While nobody has the file open, a lookup gets its first inode, so that the kernel's dentry stays right for a lone
// writer. Two lookups at the same time may get the same inode; these two writers then write one after the other.
//
// Thread-safe; mutex_ is a leaf. Holds something only of files that are open.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "fs/tree/node_id.h"

namespace arborfs {

class ControlInodes {
 public:
  static constexpr std::uint32_t kCount = 256;

  /// What a lookup of a control file gets; `control` is any of its inodes. Nodes of other kinds stay as they are.
  [[nodiscard]] NodeId free_inode(NodeId control);
  static NodeId first_inode(NodeId inode) { return numbered(inode, 0); }
  /// Place in all_verbs() of the verb that a control file is for.
  static std::uint32_t verb_place(NodeId inode) { return inode.item() % kVerbs; }

  /// The inode is open for as long as this lives.
  class Stay {
   public:
    Stay(ControlInodes& inodes, NodeId inode) : inodes_(inodes), inode_(inode) { inodes_.enter(inode_); }
    ~Stay() { inodes_.leave(inode_); }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

   private:
    ControlInodes& inodes_;
    const NodeId inode_;
  };

 private:
  static constexpr std::uint32_t kVerbs = 256;  // an item is number * kVerbs + place of the verb
  struct File {
    std::uint32_t next = 0;               // the number of the inode that a lookup gets
    std::map<std::uint32_t, int> inside;  // how often an inode is open, by its number
  };
  static NodeId numbered(NodeId inode, std::uint32_t number);
  static std::uint32_t number_of(NodeId inode) { return inode.item() / kVerbs; }
  void enter(NodeId inode);
  void leave(NodeId inode);
  std::mutex mutex_;
  std::unordered_map<NodeId, File> files_;  // by first inode; guarded by mutex_
};

}  // namespace arborfs
