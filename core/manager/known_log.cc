#include "core/manager/known_log.h"

#include "core/json/document.h"
#include "core/manager/log_rewrite.h"

namespace arborfs {

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
  json::Document parsed;
  json::parse(header.json, parsed);
  return KnownLog{guard->index().flavour(), header.has_slot, header.title,
                  std::string(json::string_member(parsed, "titleSource").value_or(std::string_view()))};
}

}  // namespace arborfs
