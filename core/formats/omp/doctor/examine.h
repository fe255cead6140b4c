// Finds faults of a session, in plain words. Changes nothing. Any thread.
#pragma once

#include <vector>

#include "core/formats/omp/doctor/finding.h"
#include "core/session/catalog.h"

namespace arborfs {

/// Reads the session and everything that it refers to. An unreadable log is a finding too.
std::vector<Finding> examine_session(Session& session, const Catalog& catalog);

}  // namespace arborfs
