// The conversation of another agent as a new session of OpenCode, in its database or its files.
#include <string>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/opencode/opencode_format.h"
#include "core/formats/opencode/opencode_store.h"
#include "core/formats/opencode/write/adopt_database.h"
#include "core/formats/opencode/write/adopt_files.h"
#include "core/formats/opencode/write/opencode_writer.h"

namespace arborfs {

Result<AdoptResult> OpenCodeWriter::adopt(const Conversation& conversation, const std::string& agent) {
  const std::uint8_t number = *catalog().stores().first_of(agent);
  SessionStore& store = *catalog().stores().at(number);
  AdoptResult adopted{{}, conversation.as_text, 0};
  const bool sync = settings().durability == Durability::synced;
  LogPlace place{"", "", number};
  if (&store.format() == &opencode_format()) {
    const std::string database = store.path_of(place);
    ASSIGN_OR_RETURN(place.file,
                     opencode::adopt_in_database(
                         database, sync ? sqlite::Transaction::Sync::full : sqlite::Transaction::Sync::left_to_kernel,
                         conversation, adopted.as_text));
    place.folder = database.substr(database.rfind('/') + 1);
  } else {
    const std::string storage = store.paths().sessions.substr(0, store.paths().sessions.rfind('/'));
    ASSIGN_OR_RETURN(auto made, opencode::adopt_in_files(store.disk(), storage, conversation, sync, adopted.as_text));
    place.folder = std::move(made.project);
    place.file = std::move(made.session);
  }
  place.file += opencode::kPlaceSuffix;
  ASSIGN_OR_RETURN(adopted.made, show_made(place));
  return adopted;
}

}  // namespace arborfs
