// Copies entries from one log to another and changes ids, parents and roles in the process. Short entries are changed
// as text (migration.h, header_text.h); long ones are copied in steps around the members that change, so that memory
// use does not grow with the entry. Both give the same bytes. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/formats/omp/writer/migration.h"
#include "core/log/log_source.h"

namespace arborfs {

/// The changes to one entry.
struct EntryChange {
  std::optional<EntryMigration> migration;
  std::string parent_json;  // JSON text of the new parent's id; "" keeps the parent
};

/// Entries up to this length are changed in memory.
inline constexpr std::uint64_t kLongestHeldEntry = 4 << 20;

/// Passes the entry at `offset` to `write`, changed. Errors: as copy_bytes; too_large if a long entry must be changed
/// and has more members than kMostMembers (oversized.h); invalid_argument if a short entry gets a parent but is not an
/// object.
Result<void> copy_entry(const LogSource& log, std::uint64_t offset, std::uint64_t length, const EntryChange& change,
                        const IdOfValue& id_of, const ByteSink& write, std::uint64_t longest_held = kLongestHeldEntry);

}  // namespace arborfs
