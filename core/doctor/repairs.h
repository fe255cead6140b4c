// What it takes to mend a log, as edits of its bytes and in words. Only plans; repairer.h carries out.
//
// Whole records among bytes that agents drop get lines of their own, the rest of those bytes is cut out; a missing
// header is written anew; entries that another program's rewrite left out are put back before the last entry, so that
// the leaf stays. Entries that can be read keep every byte and their order. Any thread.
#pragma once

#include <string>
#include <vector>

#include "core/writer/log_rewrite.h"

namespace arborfs {

struct RepairPlan {
  std::vector<LogEdit> edits;      // in order
  std::vector<std::string> words;  // what they do, one sentence each without a full stop, fit to be shown
};

/// For the session's state as it was last read. Nothing to do is no error. Errors: stale, io; busy while its end is
/// being written; read_only for a log that is never written to (a version above 3, UTF-16).
Result<RepairPlan> plan_repairs(const Session& session, const Catalog& catalog);

}  // namespace arborfs
