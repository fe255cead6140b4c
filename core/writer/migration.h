// How entries of versions 1 and 2 read in version 3 (omp/FORMAT.md E9, E10), as changes of their text: whatever
// migration does not mean to change stays as it is spelled. The ids are those that the index gave them. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/session/session.h"

namespace arborfs {

struct EntryMigration {
  std::string id_json;  // "" keeps id and parent as they are (version 2)
  std::string parent_json;
  EntryType type = EntryType::none;
  bool renames_roles = false;  // hookMessage becomes custom
};

/// For one state of a log of an old version; `index` outlives it and is not changed meanwhile.
class LogMigration {
 public:
  explicit LogMigration(const LogIndex& index);
  [[nodiscard]] EntryMigration of(Ordinal ordinal) const;

 private:
  const LogIndex& index_;
  bool gives_ids_ = false;
  bool renames_roles_ = false;
};

/// The id (JSON text) of the entry that is a value of the log, the header being 0; "" when it is none.
using IdOfValue = std::function<std::string(std::uint64_t value)>;
/// Looks in the session's index as it is at the time of the call.
IdOfValue ids_of(const Session& session);

/// The id (JSON text) that `firstKeptEntryIndex` of a compaction means (omp/FORMAT.md E9); "" when it means none.
std::string id_of_kept(double index, const IdOfValue& id_of);

/// The entry's text in version 3; values that are no objects stay.
std::string migrate_entry(std::string_view entry, const EntryMigration& migration, const IdOfValue& id_of);

}  // namespace arborfs
