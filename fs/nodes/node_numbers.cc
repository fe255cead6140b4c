#include "fs/nodes/node_numbers.h"

#include <iterator>
#include <mutex>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "fs/nodes/node_id.h"

namespace arborfs {

namespace {

std::uint64_t key_of(std::uint32_t session, std::uint32_t generation) {
  return static_cast<std::uint64_t>(session) << 32U | generation;
}

}  // namespace

std::uint32_t SessionIds::find(std::uint32_t session, std::uint32_t generation) const {
  const std::shared_lock lock(mutex_);
  const auto found = numbers_.find(key_of(session, generation));
  return found == numbers_.end() ? 0 : found->second;
}

std::uint32_t SessionIds::slot_of(std::uint32_t session, std::uint32_t generation) {
  if (const std::uint32_t known = find(session, generation); known != 0) {
    return known;
  }
  const std::unique_lock lock(mutex_);
  if (slots_.size() > NodeId::kMaxSlot) {
    return 0;
  }
  const auto fresh = static_cast<std::uint32_t>(slots_.size());
  const auto [place, is_new] = numbers_.emplace(key_of(session, generation), fresh);
  if (is_new) {
    slots_.push_back({session, generation});
  }
  return place->second;
}

std::optional<SessionIds::Slot> SessionIds::at(std::uint32_t slot) const {
  const std::shared_lock lock(mutex_);
  if (slot == 0 || slot >= slots_.size()) {
    return std::nullopt;
  }
  return slots_[slot];
}

namespace {

/// True if the path to `leaf` goes through `earlier`; the walk ends even if parents form a cycle.
bool passes(const LogIndex& index, Ordinal leaf, Ordinal earlier) {
  Ordinal at = leaf;
  for (Ordinal steps = 0; at != earlier && at != kNoEntry && steps <= index.size(); ++steps) {
    at = index.parent(at);
  }
  return at == earlier;
}

}  // namespace

Result<std::uint32_t> TranscriptVersions::version_of(const Session& session) {
  for (;;) {
    Line before;
    {
      const std::lock_guard lock(mutex_);
      before = lines_[session.number()];
    }
    Line now;
    bool goes_on = false;
    {
      ASSIGN_OR_RETURN(const auto guard, session.read_index());
      const LogIndex& index = guard.index();
      now = {before.number, guard.generation_of(guard.leaf()), guard.epoch(), guard.leaf()};
      goes_on = before.number != 0 && before.generation == guard.generation_of(before.leaf) &&
                passes(index, now.leaf, before.leaf);
    }
    const std::lock_guard lock(mutex_);
    Line& line = lines_[session.number()];
    if (line == before) {
      now.number = goes_on ? before.number : ++last_;
      line = now;
      return now.number;
    }
  }
}

std::uint32_t TranscriptVersions::last_of(std::uint32_t session) const {
  const std::lock_guard lock(mutex_);
  const auto found = lines_.find(session);
  return found == lines_.end() ? 0 : found->second.number;
}

std::uint32_t TextVersions::version_of(NodeId file, std::uint64_t hash) {
  const std::lock_guard lock(mutex_);
  Version& version = versions_[file];
  if (version.number == 0 || version.hash != hash) {
    version.hash = hash;
    ++version.number;
  }
  return version.number;
}

bool NodeId::is_known() const {
  return (value_ >> 56U) < kFirstView + session_views().size() && (kind() != Kind::root || value_ == 1);
}

std::uint64_t stable_ino(std::uint64_t seed, std::string_view word, std::string_view what) {
  std::string text(word);
  text += '\0';
  text += what;
  const std::uint64_t hash = xxh64(text, seed);
  return hash > 1 ? hash : hash + 2;
}

namespace {

constexpr std::int64_t kFirstTime = 1'420'070'400'000;  // 2015
constexpr unsigned kTimeBits = 40;
constexpr unsigned kHashBits = 64 - kTimeBits;

/// The entry's time, counted from kFirstTime; 0 if it cannot order the entry.
std::uint64_t telling_time(const LogIndex& index, Ordinal ordinal) {
  const std::int64_t time = index.entry(ordinal).timestamp_ms;
  const bool is_shared = ordinal > 1 && index.entry(ordinal - 1).timestamp_ms == time;
  const bool fits = time > kFirstTime && time - kFirstTime < std::int64_t{1} << kTimeBits;
  return fits && !is_shared ? static_cast<std::uint64_t>(time - kFirstTime) : 0;
}

/// The hash of `word` gives the files of one entry different numbers, whatever the entry's hash is.
std::uint64_t ordered_ino(std::uint64_t time, std::uint64_t seed, std::string_view word, std::string_view what) {
  return time << kHashBits | ((xxh64(what, seed) ^ xxh64(word)) & ((std::uint64_t{1} << kHashBits) - 1));
}

}  // namespace

std::uint64_t entry_ino(std::uint64_t seed, std::string_view word, const LogIndex& index, Ordinal ordinal) {
  const EntryId id = index.id(ordinal);
  const bool has_own_id =
      id.kind != EntryId::Kind::missing && (!index.has_duplicate_ids() || index.find(id) == ordinal);
  if (!has_own_id) {
    return stable_ino(seed, word, "#" + std::to_string(ordinal));
  }
  const std::string what = (id.kind == EntryId::Kind::string ? "s" : "v") + id.text;
  const std::uint64_t time = telling_time(index, ordinal);
  return time == 0 ? stable_ino(seed, word, what) : ordered_ino(time, seed, word, what);
}

void InodeSeeds::take_names(const CatalogView& view) {
  if (view_version_ == view.version && !names_.empty()) {
    return;
  }
  names_.clear();
  for (const auto& [number, shown] : view.where) {
    names_.emplace(xxh64(shown.session()->stem()), number);
  }
  view_version_ = view.version;
}

std::uint64_t InodeSeeds::new_seed(const Session& session, const CatalogView& view) {
  take_names(view);
  const std::string stem = session.stem();
  const std::uint64_t seed = xxh64(stem);
  const auto [first, last] = names_.equal_range(seed);
  if (first != last && std::next(first) == last && first->second == session.number()) {
    return seed;
  }
  const LogPlace own = session.place();
  std::size_t before = 0;
  for (auto name = first; name != last; ++name) {
    const auto other = view.session(name->second);
    const LogPlace place = other ? other->place() : own;
    before += place.stem() == stem && place < own ? 1 : 0;
  }
  return before == 0 ? seed : xxh64(stem + "~" + std::to_string(before + 1));
}

std::uint64_t InodeSeeds::seed_of(const Session& session, const CatalogView& view) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = seeds_.find(session.number()); found != seeds_.end()) {
      return found->second;
    }
  }
  const std::unique_lock lock(mutex_);
  return seeds_.emplace(session.number(), new_seed(session, view)).first->second;
}

}  // namespace arborfs
