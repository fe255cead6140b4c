// A conversation of another agent as a new log of omp or pi. Both read the same lines (omp/FORMAT.md P1). Any thread.
#pragma once

#include <string>

#include "core/formats/omp/log/dialect.h"
#include "core/session/catalog.h"
#include "core/writer/conversation.h"

namespace arborfs {

/// The entries, each a child of the previous one. The first one names the source of the conversation.
std::string adopted_lines(const Conversation& conversation, Dialect dialect);

/// Writes the log in the store of this number. Errors: invalid_argument if the working directory is not absolute;
/// those of write_new_log.
Result<LogPlace> write_adopted_log(Catalog& catalog, std::uint8_t store, const Conversation& conversation,
                                   Dialect dialect, bool sync);

}  // namespace arborfs
