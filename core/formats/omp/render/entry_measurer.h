// Measures the entries of a log of omp or pi: while the log is indexed, or in a pass over entries that were indexed
// before. Two threads work in either case.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/log/log_source.h"
#include "core/render/text_sizes.h"

namespace arborfs {

/// `log` is the log that is indexed; it must outlive the observer.
std::unique_ptr<TextSizesObserver> observe_entries(const LogSource& log);

/// Adds the measures of `entries` to `delta`. Errors: stale, io, interrupted.
Result<TextSizes::Delta> measure_entries(const LogSource& log, TextSizes::Delta delta,
                                         const std::vector<Entry>& entries, const std::atomic<bool>* cancelled);

}  // namespace arborfs
