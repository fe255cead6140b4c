#include "core/session/index_fingerprint.h"

#include <array>
#include <string_view>

#include "core/base/hash.h"

namespace arborfs {

namespace {

template <class Numbers>
std::uint64_t hash_of(const Numbers& numbers, std::uint64_t seed) {
  return xxh64({reinterpret_cast<const char*>(numbers.data()), sizeof(numbers)}, seed);
}

/// Includes the entry's place in the tree: a later entry may become its parent.
std::uint64_t hash_of(const LogIndex& index, Ordinal ordinal, std::uint64_t seed) {
  const Entry& entry = index.entry(ordinal);
  const EntryId id = index.id(ordinal);
  const bool is_found = !index.has_duplicate_ids() || index.find(id) == ordinal;
  const std::array<std::uint64_t, 7> numbers = {entry.offset,
                                                index.length(ordinal),
                                                static_cast<std::uint64_t>(entry.timestamp_ms),
                                                index.parent(ordinal),
                                                index.named_before(ordinal),
                                                static_cast<std::uint64_t>(entry.type) << 8U | entry.flags,
                                                (is_found ? 2U : 0U) + (index.is_orphan(ordinal) ? 1U : 0U)};
  return xxh64(index.name(ordinal), xxh64(id.text, hash_of(numbers, seed)));
}

/// Leaves out damage that is still being written.
std::uint64_t hash_of_damage(const LogIndex& index, std::uint64_t until, std::uint64_t seed) {
  for (const Damage& run : index.damage()) {
    if (!run.in_progress && run.offset < until) {
      seed = hash_of(std::array{run.offset, run.length, static_cast<std::uint64_t>(run.kind)}, seed);
    }
  }
  return seed;
}

}  // namespace

IndexFingerprint IndexFingerprint::of_first(const LogIndex& index, Ordinal entries) {
  IndexFingerprint mark;
  mark.entries_ = entries;
  const std::array<std::uint64_t, 3> rules = {static_cast<std::uint64_t>(index.dialect()), index.gives_ids() ? 1U : 0U,
                                              index.has_duplicate_ids() ? 1U : 0U};
  std::uint64_t hash = hash_of(rules, entries);
  for (Ordinal ordinal = 1; ordinal <= entries; ++ordinal) {
    hash = hash_of(index, ordinal, hash);
  }
  const std::uint64_t until = entries == kNoEntry ? 0 : index.entry(entries).offset;
  mark.hash_ = hash_of_damage(index, until, hash);
  return mark;
}

bool IndexFingerprint::is_of(const LogIndex& index) const {
  return index.size() >= entries_ && of_first(index, entries_).hash_ == hash_;
}

}  // namespace arborfs
