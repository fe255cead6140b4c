// The notebook that the model keeps in `custom` entries of the type experimental_context_notes (omp/FORMAT.md M1 to
// M3). omp18 only. Internal to core/model.
#pragma once

#include <optional>
#include <string>

#include "core/formats/omp/context/context_source.h"

namespace arborfs::context {

/// The step with the revision in effect at the end of the path; nullopt if there is none or its text is empty. Errors:
/// io, stale.
Result<std::optional<std::size_t>> find_notes(const ContextPath& path, const Source& source);

/// The message that shows the notebook in `entry`, which must be such a custom entry.
std::string notes_message(const json::Document& entry);

}  // namespace arborfs::context
