#include "core/formats/omp/writer/writable_state.h"

#include "core/base/result_macros.h"
#include "core/formats/omp/writer/log_rewrite.h"
#include "core/json/document.h"

namespace arborfs {

std::string title_source_of(const Header& header) {
  json::Document parsed;
  json::parse(header.json, parsed);
  return std::string(json::string_member(parsed, "titleSource").value_or(std::string_view()));
}

Result<WritableState> writable_state_of(const SessionPtr& session) {
  RETURN_IF_ERROR(check_writable(session->format()));
  RETURN_IF_ERROR(session->refresh(Depth::index));
  ASSIGN_OR_RETURN(const auto guard, session->read_index());
  RETURN_IF_ERROR(check_writable(guard));
  const Header& header = guard.index().header();
  return WritableState{dialect_of(guard.index()), header.has_slot, header.title, title_source_of(header)};
}

}  // namespace arborfs
