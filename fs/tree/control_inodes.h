// Which node the name of a control file leads to (control_nodes in nodes.h). The kernel lets in one writer of a node at
// a time; so a session's control files have many nodes, called doors, and who looks one up is sent to a door that
// nobody has open. All doors of a file have the same attributes, st_ino included.
//
// While nobody has the file open its first door is the one, so that a lone writer finds the kernel's memory of the name
// right. Two who look it up at the same time may meet at a door; they write one after the other then, no more.
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

  /// The door for who looks up a control file, given by any of its doors. Nodes of other kinds stay as they are.
  [[nodiscard]] NodeId free_door(NodeId control);
  static NodeId first_door(NodeId door) { return numbered(door, 0); }
  /// Place in all_verbs() of the verb that a control file is for.
  static std::uint32_t verb_place(NodeId door) { return door.item() % kVerbs; }

  /// Somebody is at the door for as long as this lives.
  class Stay {
   public:
    Stay(ControlInodes& doors, NodeId door) : doors_(doors), door_(door) { doors_.enter(door_); }
    ~Stay() { doors_.leave(door_); }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

   private:
    ControlInodes& doors_;
    const NodeId door_;
  };

 private:
  static constexpr std::uint32_t kVerbs = 256;  // an item is number * kVerbs + place of the verb
  struct File {
    std::uint32_t next = 0;               // the number of the door that is given out
    std::map<std::uint32_t, int> inside;  // how many are at a door, by its number
  };
  static NodeId numbered(NodeId door, std::uint32_t number);
  static std::uint32_t number_of(NodeId door) { return door.item() / kVerbs; }
  void enter(NodeId door);
  void leave(NodeId door);
  std::mutex mutex_;
  std::unordered_map<NodeId, File> files_;  // by first door; guarded by mutex_
};

}  // namespace arborfs
