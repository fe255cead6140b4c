// Mends a session whose calls of tools and results do not pair (unpaired_parts, core/views/session_facts.h). Any
// thread.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/write/writer.h"

namespace arborfs {

struct PairRepair {
  std::string words;  // what was done, without a full stop, safe to show; "" if there was nothing to mend
  std::string copy;   // the id of the new session; "" if the session itself is mended
};

struct PairRepairWanted {
  bool copies = true;    // false: only what the session itself can take is mended
  bool dry_run = false;  // only says what would be done
  bool force = false;    // also in a session that may be live
};

/// Where only its last calls lack results, and its agent takes outputs that are appended (Format::output_json), each
/// call gets one that says that it was interrupted. Else the context becomes a new session of the agent, in which such
/// calls and results are text. Errors: unsupported for a copy that is not wanted; those of Writer::append_text and
/// Writer::fork_to.
Result<PairRepair> mend_pairs(Writer& writer, const SessionPtr& session, const PairRepairWanted& wanted);

}  // namespace arborfs
