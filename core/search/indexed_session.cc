#include "core/search/indexed_session.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace arborfs::search {

namespace {

void pack(std::uint64_t number, std::string& out) {
  for (; number >= 0x80; number >>= 7U) {
    out.push_back(static_cast<char>(number | 0x80U));
  }
  out.push_back(static_cast<char>(number));
}

/// The next number; nothing at the end and for damaged bytes.
std::optional<std::uint64_t> unpack(std::string_view& bytes) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80) {
      return number;
    }
  }
  return std::nullopt;
}

/// The next bytes after their length.
std::optional<std::string_view> unpack_bytes(std::string_view& bytes) {
  const auto size = unpack(bytes);
  if (!size || *size > bytes.size()) {
    return std::nullopt;
  }
  const std::string_view found = bytes.substr(0, *size);
  bytes.remove_prefix(*size);
  return found;
}

/// Small for small numbers, negative ones too.
std::uint64_t folded_sign(std::uint64_t difference) {
  return difference << 1U ^ (0 - (difference >> 63U));
}

std::uint64_t unfolded_sign(std::uint64_t number) {
  return number >> 1U ^ (0 - (number & 1U));
}

}  // namespace

std::string key_of(const SessionStore& store) {
  return std::string(store.format().name) + ":" + store.paths().sessions;
}

IndexKey key_of(const Session& session) {
  const LogPlace place = session.place();
  return {key_of(session.store()), place.folder + "/" + place.file};
}

bool is_state_of(const IndexedSession& indexed, const FileStat& state) {
  FileStat elsewhere = state;
  elsewhere.dev = indexed.state.dev;
  return elsewhere == indexed.state;
}

FileStat state_of_part(FileStat state) {
  state.mode = 0;
  return state;
}

/// Of each entry: its type, how far it lies behind the end of the last one, its length and that of its text, how much
/// later it is than the last one, and its name. The distance is negative in a log whose order is not that of its
/// entries; then it wraps around.
std::string packed(const std::vector<IndexedEntry>& entries) {
  std::string out;
  std::uint64_t end = 0;
  std::uint64_t time = 0;
  for (const IndexedEntry& entry : entries) {
    pack(static_cast<std::uint64_t>(entry.type), out);
    pack(entry.offset - end, out);
    pack(entry.length, out);
    pack(entry.text_size, out);
    pack(folded_sign(static_cast<std::uint64_t>(entry.time_ms) - time), out);
    pack(entry.name.size(), out);
    out += entry.name;
    end = entry.offset + entry.length;
    time = static_cast<std::uint64_t>(entry.time_ms);
  }
  return out;
}

std::optional<std::vector<IndexedEntry>> IndexedSession::entries() const {
  constexpr std::uint64_t kMostType = std::numeric_limits<std::uint8_t>::max();
  std::vector<IndexedEntry> all;
  constexpr std::size_t kFewestBytes = 6;  // of an entry
  all.reserve(std::min<std::size_t>(count(), packed_entries.size() / kFewestBytes));
  std::uint64_t end = 0;
  std::uint64_t time = 0;
  for (std::string_view rest = packed_entries; !rest.empty();) {
    const auto type = unpack(rest);
    const auto distance = unpack(rest);
    const auto length = unpack(rest);
    const auto text_size = unpack(rest);
    const auto later = unpack(rest);
    const auto name = unpack_bytes(rest);
    if (!name || !later || !text_size || !length || !distance || !type || *type > kMostType) {
      return std::nullopt;
    }
    time += unfolded_sign(*later);
    all.push_back(
        {static_cast<EntryType>(*type), end + *distance, *length, *text_size, static_cast<std::int64_t>(time), *name});
    end = all.back().offset + *length;
  }
  return all.size() == count() ? std::optional(std::move(all)) : std::nullopt;
}

/// Of each chunk: how much greater than the last its id is, 0 without one, and how many entries it has.
std::string packed(const std::vector<Chunk>& chunks) {
  std::string out;
  std::int64_t id = 0;
  for (const Chunk& chunk : chunks) {
    pack(chunk.id == Chunk::kUnread ? 0 : static_cast<std::uint64_t>(chunk.id - id), out);
    pack(chunk.last - chunk.first + 1, out);
    id = std::max(id, chunk.id);
  }
  return out;
}

std::optional<std::vector<Chunk>> unpacked_chunks(std::string_view bytes) {
  constexpr std::uint64_t kMostEntries = std::numeric_limits<Ordinal>::max();
  std::vector<Chunk> chunks;
  std::uint64_t id = 0;
  std::uint64_t last = 0;
  while (!bytes.empty()) {
    const auto further = unpack(bytes);
    const auto entries = unpack(bytes);
    const bool is_whole = further && entries && *entries != 0;
    if (!is_whole || *further > kMostChunks - id || *entries > kMostEntries - last) {
      return std::nullopt;
    }
    id += *further;
    chunks.push_back({*further == 0 ? Chunk::kUnread : static_cast<std::int64_t>(id), static_cast<Ordinal>(last + 1),
                      static_cast<Ordinal>(last + *entries)});
    last += *entries;
  }
  return chunks;
}

}  // namespace arborfs::search
