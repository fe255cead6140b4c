// Copies entries from one log to another and changes ids, parents and roles in the process, as text (migration.h,
// header_text.h). Any thread.
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

/// Passes the entry at `offset` to `write`, changed. Errors: as copy_bytes; too_large if an entry longer than
/// kLongestHeld (context.h) must be changed; invalid_argument if one gets a parent that is not an object.
Result<void> copy_entry(const LogSource& log, std::uint64_t offset, std::uint64_t length, const EntryChange& change,
                        const IdOfValue& id_of, const ByteSink& write);

}  // namespace arborfs
