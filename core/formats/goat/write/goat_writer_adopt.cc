// The conversation of another agent as a new session of goat.
#include <string>
#include <utility>
#include <vector>

#include "core/base/result_macros.h"
#include "core/formats/goat/go_json.h"
#include "core/formats/goat/metadata.h"
#include "core/formats/goat/write/adopted_messages.h"
#include "core/formats/goat/write/goat_writer.h"
#include "core/formats/goat/write/metadata_file.h"
#include "core/writer/new_file.h"

namespace arborfs {

Result<AdoptResult> GoatWriter::adopt(const Conversation& conversation, const std::string& agent) {
  const std::uint8_t number = *catalog().stores().first_of(agent);
  const SessionStore& store = *catalog().stores().at(number);
  AdoptResult adopted{{}, conversation.as_text, 0};
  ASSIGN_OR_RETURN(const auto messages, goat::adopted_messages(conversation, adopted.as_text));
  ASSIGN_OR_RETURN(const auto id, new_uuid());
  const std::string now = goat::go_literal(goat::timestamp_now());
  std::vector<goat::Field> fields{{"id", goat::go_literal(id)},
                                  {"cwd", goat::go_literal(conversation.cwd)},
                                  {"model", goat::go_literal(messages.model)},
                                  {"created_at", now},
                                  {"updated_at", now},
                                  {"message_count", std::to_string(messages.messages)},
                                  {"turn_count", std::to_string(messages.turns)},
                                  {"total_cost_usd", "0"}};
  if (!conversation.title.empty()) {
    fields.push_back({"leaf_title", goat::go_literal(conversation.title)});
  }
  ASSIGN_OR_RETURN(const auto base, Dir::open_root(store.paths().sessions));
  ASSIGN_OR_RETURN(auto folder, goat::new_folder(store.disk(), base, conversation.permissions, syncs()));
  RETURN_IF_ERROR(folder->put(goat::kMetadataFile, goat::new_metadata(fields)));
  RETURN_IF_ERROR(folder->put(goat::kMessagesFile, messages.lines));
  ASSIGN_OR_RETURN(adopted.made, put_in_place(*folder, id, number));
  return adopted;
}

}  // namespace arborfs
