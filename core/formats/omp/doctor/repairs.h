// Plans the repair of a log: edits of its bytes, and their descriptions. Changes nothing; repairer.h carries plans out.
//
// Whole records among bytes that agents drop get lines of their own; the rest of those bytes is cut out. A missing
// header is written again. Entries that another program's rewrite omitted are put back before the last entry, so that
// the leaf stays. Readable entries keep every byte and their order. Any thread.
#pragma once

#include <string>
#include <vector>

#include "core/formats/omp/writer/log_rewrite.h"

namespace arborfs {

struct RepairPlan {
  std::vector<LogEdit> edits;      // in order
  std::vector<std::string> words;  // descriptions of the edits, one sentence each without a full stop, safe to show
};

/// For the session's state as it was last read. An empty plan is not an error. Errors: stale, io; busy while another
/// program writes the log's end; read_only for a log that is never written to (a version above 3, UTF-16).
Result<RepairPlan> plan_repairs(const Session& session, const Catalog& catalog);

}  // namespace arborfs
