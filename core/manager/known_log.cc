#include "core/manager/known_log.h"

#include "core/json/document.h"
#include "core/manager/log_rewrite.h"

namespace arborfs {

std::string title_source_of(const Header& header) {
  json::Document parsed;
  json::parse(header.json, parsed);
  return std::string(json::string_member(parsed, "titleSource").value_or(std::string_view()));
}

Result<KnownLog> know_log(const SessionPtr& session) {
  if (auto read = session->refresh(Depth::index); !read) {
    return read.error();
  }
  const auto guard = session->read();
  if (!guard) {
    return Error{Errc::stale, "the session changed while it was read"};
  }
  if (auto may = check_writable(*guard); !may) {
    return may.error();
  }
  const Header& header = guard->index().header();
  return KnownLog{guard->index().flavour(), header.has_slot, header.title, title_source_of(header)};
}

}  // namespace arborfs
