// The conversation of another agent as a new session of Opal.
#include "core/base/result_macros.h"
#include "core/formats/opal/write/adopted_log.h"
#include "core/formats/opal/write/new_lines.h"
#include "core/formats/opal/write/opal_writer.h"
#include "core/writer/new_file.h"

namespace arborfs {

Result<AdoptResult> OpalWriter::adopt(const Conversation& conversation, const std::string& agent) {
  const std::uint8_t number = *catalog().stores().first_of(agent);
  SessionStore& store = *catalog().stores().at(number);
  AdoptResult adopted{{}, conversation.as_text, 0};
  ASSIGN_OR_RETURN(const auto first_half, opal::new_message_id());
  ASSIGN_OR_RETURN(const auto second_half, opal::new_message_id());
  const std::string id = first_half + second_half;
  ASSIGN_OR_RETURN(const auto log, opal::adopted_log(conversation, id, adopted.as_text));
  const LogPlace place{"sessions", id + ".jsonl", number};
  const bool sync = settings().durability == Durability::synced;
  ASSIGN_OR_RETURN(const auto folder, make_folders(store.disk(), store.paths().agent_dir, {place.folder}, 0700, sync));
  RETURN_IF_ERROR(write_new_file(store.disk(), folder, {place.file, 0600}, log, sync));
  ASSIGN_OR_RETURN(adopted.made, show_made(place));
  return adopted;
}

}  // namespace arborfs
