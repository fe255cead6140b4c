#include "core/formats/omp/writer/entry_copy.h"

#include <algorithm>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/omp/context/context.h"
#include "core/formats/omp/write/header_text.h"

namespace arborfs {

namespace {

/// True if some byte of the entry changes.
bool changes(const EntryChange& change) {
  const bool renames =
      change.migration && change.migration->renames_roles && change.migration->type == EntryType::message;
  return renames || (change.migration && !change.migration->id_json.empty()) || !change.parent_json.empty();
}

Result<std::string> changed_text(std::string text, const EntryChange& change, const IdOfValue& id_of) {
  if (change.migration) {
    text = migrate_entry(std::move(text), *change.migration, id_of);
  }
  return change.parent_json.empty() ? Result<std::string>(std::move(text))
                                    : with_member(text, "parentId", change.parent_json);
}

}  // namespace

Result<void> copy_entry(const LogSource& log, std::uint64_t offset, std::uint64_t length, const EntryChange& change,
                        const IdOfValue& id_of, const ByteSink& write) {
  if (!changes(change)) {
    return copy_bytes(log, offset, offset + length, write);
  }
  if (length > kLongestHeld) {
    return entry_too_long(length);
  }
  ASSIGN_OR_RETURN(auto bytes, log.read(offset, length));
  ASSIGN_OR_RETURN(const auto text, changed_text(std::move(bytes), change, id_of));
  return write(text);
}

}  // namespace arborfs
