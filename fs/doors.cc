#include "fs/doors.h"

namespace arborfs {

NodeId Doors::numbered(NodeId door, std::uint32_t number) {
  return door.kind() == Kind::control ? NodeId(Kind::control, door.slot(), number * kVerbs + verb_place(door)) : door;
}

NodeId Doors::free_door(NodeId control) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(first_door(control));
  if (found == files_.end()) {
    return first_door(control);
  }
  File& file = found->second;
  for (std::uint32_t tried = 0; tried < kDoors && file.inside.contains(file.next); ++tried) {
    file.next = (file.next + 1) % kDoors;
  }
  return numbered(control, file.next);
}

void Doors::enter(NodeId door) {
  const std::lock_guard lock(mutex_);
  ++files_[first_door(door)].inside[number_of(door)];
}

void Doors::leave(NodeId door) {
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
