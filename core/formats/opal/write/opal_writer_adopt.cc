// The conversation of another agent as a new session of Opal.
#include <optional>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/opal/write/adopted_log.h"
#include "core/formats/opal/write/new_lines.h"
#include "core/formats/opal/write/opal_writer.h"

namespace arborfs {

Result<AdoptResult> OpalWriter::adopt(const Conversation& conversation, const std::string& agent) {
  AdoptResult adopted{{}, conversation.as_text, 0};
  ASSIGN_OR_RETURN(const auto id, opal::new_session_id());
  ASSIGN_OR_RETURN(const auto log, opal::adopted_log(conversation, id, adopted.as_text));
  ASSIGN_OR_RETURN(adopted.made, add_session(*catalog().stores().first_of(agent), id, conversation.permissions,
                                             [&](TempFile& file) { return file.write(log); }));
  return adopted;
}

}  // namespace arborfs
