#include "fs/inode_number.h"

#include <algorithm>
#include <mutex>

#include "core/base/hash.h"

namespace arborfs {

std::uint64_t stable_ino(std::uint64_t seed, std::string_view word, std::string_view what) {
  std::string text(word);
  text += '\0';
  text += what;
  const std::uint64_t hash = xxh64(text, seed);
  return hash > 1 ? hash : hash + 2;
}

std::uint64_t entry_ino(std::uint64_t seed, std::string_view word, const LogIndex& index, Ordinal ordinal) {
  const EntryId id = index.id(ordinal);
  const bool has_own_id =
      id.kind != EntryId::Kind::missing && (!index.has_duplicate_ids() || index.find(id) == ordinal);
  if (!has_own_id) {
    return stable_ino(seed, word, "#" + std::to_string(ordinal));
  }
  return stable_ino(seed, word, (id.kind == EntryId::Kind::string ? "s" : "v") + id.text);
}

std::string InodeSeeds::key_of(const Session& session, const CatalogView& view) {
  if (view_version_ != view.version || places_.empty()) {
    places_.clear();
    for (const auto& project : view.projects) {
      for (const auto& [name, other] : project->sessions) {
        places_[other->stem()].push_back(other->place());
      }
    }
    view_version_ = view.version;
  }
  const std::string stem = session.stem();
  const LogPlace own = session.place();
  const auto& places = places_[stem];
  const auto before = std::count_if(places.begin(), places.end(), [&](const LogPlace& place) { return place < own; });
  return before == 0 ? stem : stem + "~" + std::to_string(before + 1);
}

std::uint64_t InodeSeeds::seed_of(const Session& session, const CatalogView& view) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = seeds_.find(session.number()); found != seeds_.end()) {
      return found->second;
    }
  }
  const std::unique_lock lock(mutex_);
  const std::uint64_t seed = xxh64(key_of(session, view));
  return seeds_.emplace(session.number(), seed).first->second;
}

}  // namespace arborfs
