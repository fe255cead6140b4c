// Converts entries of versions 1 and 2 to version 3 (omp/FORMAT.md E9, E10) by editing their text: unchanged parts keep
// their spelling. The ids are those that the index assigned. Any thread.
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

/// For one state of a log of an old version. `index` must outlive this object and must not change meanwhile.
class LogMigration {
 public:
  explicit LogMigration(const LogIndex& index);
  [[nodiscard]] EntryMigration of(Ordinal ordinal) const;

 private:
  const LogIndex& index_;
  bool gives_ids_ = false;
  bool renames_roles_ = false;
};

/// The id (JSON text) of the entry that is value number `value` of the log, the header being 0; "" if that is not an
/// entry.
using IdOfValue = std::function<std::string(std::uint64_t value)>;
/// Looks up ids in the session's index as it is at the time of each lookup.
IdOfValue ids_of(const Session& session);

/// The id (JSON text) that `firstKeptEntryIndex` of a compaction refers to (omp/FORMAT.md E9); "" if it refers to none.
std::string id_of_kept(double index, const IdOfValue& id_of);

/// The entry's text in version 3. Values that are not objects stay unchanged.
std::string migrate_entry(std::string entry, const EntryMigration& migration, const IdOfValue& id_of);

}  // namespace arborfs
