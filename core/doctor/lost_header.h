// A header for a log that has lost its own, from what is left of it and around it (FAILURES.md F3). Any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/session/catalog.h"

namespace arborfs {

struct LostHeader {
  std::string json;   // without line feed
  std::string words;  // where its parts come from, fit to be shown
};

/// `remains` are the bytes of the log up to its first entry. The id and the time come from the log's name; the working
/// directory from `remains`, from the terminal that used the session last, or from the sessions in the same folder when
/// they agree. `has_ids`: the entries have ids, so that the log is of the present version.
LostHeader make_lost_header(const Session& session, const Catalog& catalog, std::string_view remains, bool has_ids);

/// A header that has everything but an id, with the id of the log's name; one that has an id stays as it is. Errors:
/// invalid_argument when it is no object.
Result<std::string> with_session_id(std::string_view header, const std::string& stem);

}  // namespace arborfs
