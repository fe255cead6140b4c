#include "fs/tree/control_inodes.h"

namespace arborfs {

NodeId ControlInodes::numbered(NodeId door, std::uint32_t number) {
  return door.kind() == Kind::control ? NodeId(Kind::control, door.slot(), number * kVerbs + verb_place(door)) : door;
}

NodeId ControlInodes::free_door(NodeId control) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(first_door(control));
  if (found == files_.end()) {
    return first_door(control);
  }
  File& file = found->second;
  for (std::uint32_t tried = 0; tried < kCount && file.inside.contains(file.next); ++tried) {
    file.next = (file.next + 1) % kCount;
  }
  return numbered(control, file.next);
}

void ControlInodes::enter(NodeId door) {
  const std::lock_guard lock(mutex_);
  ++files_[first_door(door)].inside[number_of(door)];
}

void ControlInodes::leave(NodeId door) {
  const std::lock_guard lock(mutex_);
  const auto file = files_.find(first_door(door));
  const auto count = file->second.inside.find(number_of(door));
  if (--count->second == 0) {
    file->second.inside.erase(count);
  }
  if (file->second.inside.empty()) {
    files_.erase(file);
  }
}

}  // namespace arborfs
