// Folders of the stores that are or contain mount points.
#include "core/os/submounts.h"
#include "core/session/catalog_known.h"

namespace arborfs {

std::vector<LogFolder> Catalog::submounts() const {
  const std::lock_guard lock(mutex_);
  return {known_->submounts.begin(), known_->submounts.end()};
}

bool Catalog::is_submount(const LogFolder& folder) const {
  if (!has_submounts_) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  return known_->submounts.contains(folder);
}

void Catalog::find_submounts() {
  std::set<LogFolder> found;
  for (std::size_t number = 0; number < stores_.size(); ++number) {
    for (const std::string& name : mounts_below(stores_.at(number)->paths().sessions)) {
      found.insert({static_cast<std::uint8_t>(number), name});
    }
  }
  const std::lock_guard lock(mutex_);
  known_->submounts = std::move(found);
  has_submounts_ = !known_->submounts.empty();
}

/// The mutex that a rescan of this folder holds.
std::mutex& Catalog::turn_of(const LogFolder& folder) {
  if (!is_submount(folder)) {
    return rescan_mutex_;
  }
  const std::lock_guard lock(mutex_);
  auto& turn = known_->submount_turns[folder];
  if (!turn) {
    turn = std::make_unique<std::mutex>();
  }
  return *turn;
}

void Catalog::rescan_submount(const LogFolder& folder) {
  rescan_in_turn(turn_of(folder), {folder});
  for (const auto& session : all_sessions()) {
    if (session->place().in() == folder) {
      session->reload_leaf();
    }
  }
}

}  // namespace arborfs
