// Chooses the inode that a lookup of a control file returns. The kernel admits one writer to an inode at a time, so
// each control file of a session has many inodes, and a lookup gets one that is not open. All of them have the same
// attributes, st_ino included.
//
// While the file is not open, a lookup gets its first inode, so that the kernel's dentry stays valid for a lone writer.
// While it is, and if several lookups arrive before the first open, each gets another inode: writers that share one
// wait in the kernel for each other, while those of other inodes share one change of the log.
//
// Thread-safe; mutex_ is a leaf. Memory is used only for files that are open.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "fs/nodes/node_id.h"

namespace arborfs {

class ControlInodes {
 public:
  static constexpr std::uint32_t kCount = 256;

  /// The inode that a lookup of a control file returns, not open unless all are; `control` is any of its inodes. Other
  /// kinds are returned unchanged.
  [[nodiscard]] NodeId free_inode(NodeId control);
  static NodeId first_inode(NodeId inode) { return numbered(inode, 0); }
  /// Index in all_verbs() of the verb of a control file.
  static std::uint32_t verb_place(NodeId inode) { return inode.item() % kVerbs; }

  /// Keeps the inode marked as open while it lives.
  class Lease {
   public:
    Lease(ControlInodes& inodes, NodeId inode) : inodes_(inodes), inode_(inode) { inodes_.enter(inode_); }
    ~Lease() { inodes_.leave(inode_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

   private:
    ControlInodes& inodes_;
    const NodeId inode_;
  };

 private:
  static constexpr std::uint32_t kVerbs = 256;  // an item is number * kVerbs + index of the verb
  struct File {
    std::uint32_t next = 0;               // the inode with which the search for a free one begins
    std::map<std::uint32_t, int> inside;  // how often each inode is open, by its number
  };
  /// The control file that was looked up last, if it has not been opened since.
  struct Unopened {
    NodeId control;          // its first inode
    std::uint32_t next = 0;  // the number of the inode that the next lookup gets
  };
  static NodeId numbered(NodeId inode, std::uint32_t number);
  static std::uint32_t number_of(NodeId inode) { return inode.item() / kVerbs; }
  void enter(NodeId inode);
  void leave(NodeId inode);
  std::mutex mutex_;
  std::unordered_map<NodeId, File> files_;  // by first inode; guarded by mutex_
  Unopened unopened_;                       // guarded by mutex_
};

}  // namespace arborfs
