// Makes a header for a log that has lost its own, from its remains and the files around it (FAILURES.md F3). Any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "core/session/catalog.h"

namespace arborfs {

struct LostHeader {
  std::string json;   // without line feed
  std::string words;  // where its parts come from, safe to show
};

/// `remains` are the bytes of the log up to its first entry. The id and the time come from the log's name. The working
/// directory comes from `remains`, from the terminal that used the session last, or from the sessions in the same
/// folder if they agree. `has_ids`: the entries have ids, so the log is of the present version.
LostHeader make_lost_header(const Session& session, const Catalog& catalog, std::string_view remains, bool has_ids);

/// Adds the id from the log's name to a header without id; a header with an id stays unchanged. Errors:
/// invalid_argument if it is not an object.
Result<std::string> with_session_id(std::string_view header, const std::string& stem);

}  // namespace arborfs
