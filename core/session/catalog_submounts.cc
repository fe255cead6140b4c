// The submounts of the stores, and work that does not wait for those that hang.
#include "core/os/links.h"
#include "core/os/submounts.h"
#include "core/session/catalog_known.h"

namespace arborfs {

namespace {

LogFolder whole(std::size_t store) {
  return {static_cast<std::uint8_t>(store), std::string(kWholeStore)};
}

/// True if the path, or a link on its way, leads into one of the mounts.
bool leads_into(const std::set<std::string>& mounts, const std::string& path) {
  const auto real = real_path_outside(path, mounts);
  return !real && real.error().code == own_mount().code;
}

/// The folders whose file systems a submount of this store needs.
std::vector<std::string> needed_by(const SessionStore& store, const LogFolder& submount) {
  const StorePaths& paths = store.paths();
  return submount.name == kWholeStore ? std::vector{paths.agent_dir, paths.sessions}
                                      : std::vector{folder_path(paths.sessions, submount.name)};
}

}  // namespace

std::set<std::uint8_t> Hanging::stores() const {
  std::set<std::uint8_t> numbers;
  for (const auto& [submount, sentence] : submounts) {
    if (submount.name == kWholeStore) {
      numbers.insert(submount.store);
    }
  }
  return numbers;
}

std::vector<LogFolder> Catalog::submounts() const {
  const std::lock_guard lock(mutex_);
  return {known_->submounts.begin(), known_->submounts.end()};
}

std::optional<LogFolder> Catalog::submount_of(const LogFolder& folder) const {
  if (!has_submounts_) {
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  for (const LogFolder& submount : {whole(folder.store), folder}) {
    if (known_->submounts.contains(submount)) {
      return submount;
    }
  }
  return std::nullopt;
}

void Catalog::find_submounts() {
  std::set<LogFolder> found;
  const auto served = mounts_served_elsewhere();
  for (std::size_t number = 0; number < stores_.size(); ++number) {
    const StorePaths& paths = stores_.at(number)->paths();
    if (leads_into(served, paths.agent_dir) || leads_into(served, paths.sessions)) {
      found.insert(whole(number));
      continue;
    }
    for (const std::string& name : mounts_below(paths.sessions)) {
      found.insert({static_cast<std::uint8_t>(number), name});
    }
  }
  const std::lock_guard lock(mutex_);
  known_->submounts = std::move(found);
  has_submounts_ = !known_->submounts.empty();
}

/// The mutex that a rescan of this folder holds.
std::mutex& Catalog::turn_of(const LogFolder& folder) {
  const auto submount = submount_of(folder);
  if (!submount) {
    return rescan_mutex_;
  }
  const std::lock_guard lock(mutex_);
  auto& turn = known_->submount_turns[*submount];
  if (!turn) {
    turn = std::make_unique<std::mutex>();
  }
  return *turn;
}

void Catalog::rescan_submount(const LogFolder& submount) {
  if (submount.name == kWholeStore) {
    rescan_store(submount.store);
  } else {
    rescan_in_turn(turn_of(submount), {submount});
  }
  for (const auto& session : all_sessions()) {
    if (submount_of(session->place().in()) == submount) {
      session->reload_leaf();
    }
  }
}

void Catalog::rescan_store(std::uint8_t store) {
  const std::lock_guard scanning(turn_of(whole(store)));
  auto known = all_sessions();
  std::erase_if(known, [store](const SessionPtr& session) { return session->store_number() != store; });
  rescan_all(known, store);
  look_for_blobs_of(*states_[store]);
}

Hanging Catalog::hanging() const {
  const auto all = submounts();
  std::set<std::string> folders;
  for (const LogFolder& submount : all) {
    const auto needed = needed_by(*stores_.at(submount.store), submount);
    folders.insert(needed.begin(), needed.end());
  }
  const auto silent = pulse_.silent(folders);
  Hanging found;
  for (const LogFolder& submount : all) {
    const SessionStore& store = *stores_.at(submount.store);
    const auto needed = needed_by(store, submount);
    const auto hangs =
        std::find_if(needed.begin(), needed.end(), [&](const auto& path) { return silent.contains(path); });
    if (hangs != needed.end()) {
      found.submounts[submount] = "the store of " + std::string(store.format().agent) + " at " +
                                  store.paths().agent_dir + " does not answer: the file system of " + *hangs + " hangs";
    }
  }
  return found;
}

bool Catalog::is_in(const Session& session, const Hanging& hanging) const {
  if (hanging.submounts.empty()) {
    return false;
  }
  const auto submount = submount_of(session.place().in());
  return submount && hanging.submounts.contains(*submount);
}

}  // namespace arborfs
