// Entries copied from a log to another, with ids, parents and roles changed on the way. Short entries are changed as
// text (migration.h, header_text.h); long ones are copied in steps around the members that change, so that memory does
// not grow with the entry. Both give the same bytes. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/writer/migration.h"

namespace arborfs {

/// Takes the next bytes of a copy.
using ByteSink = std::function<Result<void>(std::string_view bytes)>;

/// What an entry is to have that it has not.
struct EntryChange {
  std::optional<EntryMigration> migration;
  std::string parent_json;  // JSON text of its parent's id; "" keeps the parent
};

/// Entries up to this length are held in memory to be changed.
inline constexpr std::uint64_t kLongestHeldEntry = 4 << 20;

/// Gives the bytes of the log from `from` up to `end` to `write`, in steps. Errors: stale, io, those of `write`.
Result<void> copy_bytes(const LogFile& log, std::uint64_t from, std::uint64_t end, const ByteSink& write);

/// Gives the entry that lies there to `write`, changed. Errors: as copy_bytes; too_large for a long entry that has to
/// be changed and has more members than kMostMembers (oversized.h); invalid_argument for a parent of what is no object.
Result<void> copy_entry(const LogFile& log, std::uint64_t offset, std::uint64_t length, const EntryChange& change,
                        const IdOfValue& id_of, const ByteSink& write, std::uint64_t longest_held = kLongestHeldEntry);

}  // namespace arborfs
