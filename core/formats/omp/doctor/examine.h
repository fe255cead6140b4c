// Finds faults of a session of omp or pi, in plain words. Changes nothing. Any thread.
#pragma once

#include <vector>

#include "core/session/catalog.h"
#include "core/store/finding.h"

namespace arborfs {

/// Reads the session and everything that it refers to. An unreadable log is a finding too.
std::vector<Finding> examine_omp_session(Session& session, const Catalog& catalog);

}  // namespace arborfs
