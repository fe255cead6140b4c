// Folders of a store that are mounts of their own.
#include "core/os/submounts.h"
#include "core/session/catalog_known.h"

namespace arborfs {

std::vector<std::string> Catalog::submounts() const {
  const std::lock_guard lock(mutex_);
  return {known_->apart.begin(), known_->apart.end()};
}

bool Catalog::lies_apart(const std::string& folder) const {
  if (!has_folders_apart_) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  return known_->apart.contains(folder);
}

void Catalog::look_for_folders_apart() {
  auto apart = mounts_below(store_->paths().sessions);
  const std::lock_guard lock(mutex_);
  known_->apart = std::move(apart);
  has_folders_apart_ = !known_->apart.empty();
}

/// The mutex that a look at this folder holds.
std::mutex& Catalog::turn_of(const std::string& folder) {
  if (!lies_apart(folder)) {
    return rescan_mutex_;
  }
  const std::lock_guard lock(mutex_);
  auto& turn = known_->apart_turns[folder];
  if (!turn) {
    turn = std::make_unique<std::mutex>();
  }
  return *turn;
}

void Catalog::rescan_apart(const std::string& folder) {
  rescan_in_turn(turn_of(folder), {folder});
  for (const auto& session : all_sessions()) {
    if (session->place().folder == folder) {
      session->reload_leaf();
    }
  }
}

}  // namespace arborfs
