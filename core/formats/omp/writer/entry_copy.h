// Copies entries from one log to another and changes ids, parents and roles in the process, as text (migration.h,
// header_text.h). Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/formats/omp/writer/migration.h"

namespace arborfs {

/// Receives the next bytes of a copy.
using ByteSink = std::function<Result<void>(std::string_view bytes)>;

/// The changes to one entry.
struct EntryChange {
  std::optional<EntryMigration> migration;
  std::string parent_json;  // JSON text of the new parent's id; "" keeps the parent
};

/// Passes the log's bytes from `from` up to `end` to `write`, in steps. Errors: stale, io, those of `write`.
Result<void> copy_bytes(const LogSource& log, std::uint64_t from, std::uint64_t end, const ByteSink& write);

/// Passes the entry at `offset` to `write`, changed. Errors: as copy_bytes; too_large if an entry longer than
/// kLongestHeld (context.h) must be changed; invalid_argument if one gets a parent that is not an object.
Result<void> copy_entry(const LogSource& log, std::uint64_t offset, std::uint64_t length, const EntryChange& change,
                        const IdOfValue& id_of, const ByteSink& write);

}  // namespace arborfs
