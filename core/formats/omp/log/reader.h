// The reader of the logs of omp and pi. Thread-safe.
#pragma once

#include <optional>

#include "core/formats/omp/log/dialect.h"
#include "core/log/log_reader.h"

namespace arborfs::omp {

/// With `forced`, for conformance tests, every log is read by the rules of that dialect; else they are chosen per log.
const LogReader& reader(std::optional<Dialect> forced = std::nullopt);

/// Reads only the head of a log as it was opened (4 KiB; up to 1 MiB if the first value is long or late). The result is
/// the header of the full index, except that a log of pi is recognised by its header only and a first record past the
/// first MiB is not found. Errors: io.
Result<Header> read_header(const LogSource& log, std::optional<Dialect> dialect = std::nullopt);

}  // namespace arborfs::omp
