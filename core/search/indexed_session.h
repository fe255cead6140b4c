// What the search index has of one session, and its form in the database. Values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/session.h"

namespace arborfs::search {

/// The session's store and log as the index names them: the paths, so that they mean the same in each process.
struct IndexKey {
  std::string store;
  std::string log;
  bool operator==(const IndexKey&) const = default;
};
struct IndexKeyHash {
  std::size_t operator()(const IndexKey& key) const {
    return std::hash<std::string>()(key.log) ^ std::hash<std::string>()(key.store);
  }
};
/// The store's part of the keys of its sessions.
std::string key_of(const SessionStore& store);
IndexKey key_of(const Session& session);

/// An index has at most this many, those of sessions that are gone included: enough for 100 GB of texts.
inline constexpr std::uint64_t kMostChunks = std::uint64_t{1} << 24U;

/// A chunk ends after so many bytes of texts: few enough to be read in a fraction of a millisecond.
inline constexpr std::size_t kChunkBytes = std::size_t{16} << 10U;

/// Consecutive entries whose terms are one row of the index.
struct Chunk {
  std::int64_t id = 0;  // of the row, from 1; kUnread for entries that are not in the index, because they are too long
  Ordinal first = kNoEntry;
  Ordinal last = kNoEntry;
  static constexpr std::int64_t kUnread = 0;
};

/// Where an entry lies in its log, how long its text is, and how the mount names it.
struct IndexedEntry {
  EntryType type = EntryType::none;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t text_size = 0;  // in bytes; 0 in a chunk without a row
  std::int64_t time_ms = Entry::kNoTime;
  std::string_view name;  // names::entry_stem without the ordinal and '-'
};

/// A session as it was in one state of its log, or its first entries: those that were indexed so far.
struct IndexedSession {
  FileStat state;  // without the device, whose number may change when the machine starts; the mode is 0 for a part
  std::vector<Chunk> chunks;   // all entries, or those of a part, in their order
  std::string packed_entries;  // entries() of them
  std::uint64_t text_bytes = 0;
  [[nodiscard]] Ordinal count() const { return chunks.empty() ? kNoEntry : chunks.back().last; }
  /// Searches read the session itself.
  [[nodiscard]] bool is_part() const { return state.mode == 0; }
  /// By ordinal - 1, with names in packed_entries; nothing for damaged bytes.
  [[nodiscard]] std::optional<std::vector<IndexedEntry>> entries() const;
};

/// True if a session in this state is as it was when it was indexed, and completely indexed.
bool is_state_of(const IndexedSession& indexed, const FileStat& state);
/// The state of a part that was indexed of a session in this state.
FileStat state_of_part(FileStat state);

std::string packed(const std::vector<IndexedEntry>& entries);
std::string packed(const std::vector<Chunk>& chunks);
/// Nothing for damaged bytes.
std::optional<std::vector<Chunk>> unpacked_chunks(std::string_view bytes);

}  // namespace arborfs::search
