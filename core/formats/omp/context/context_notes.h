// The notebook that the model keeps in `custom` entries of the type experimental_context_notes (omp/FORMAT.md M1 to
// M3). omp18 only. Internal to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/formats/omp/context/context_source.h"

namespace arborfs {

/// A prompt as omp18 formats it after filling in the template (omp/FORMAT.md M3). Pure, any thread. Removes white space
/// at the ends of lines, runs of blank lines and blank lines before a closing tag, and trims the cells of tables. In
/// fenced code, removes only white space at the ends of lines. The result ends without a line feed.
std::string formatted_prompt(std::string_view wtf8);

}  // namespace arborfs

namespace arborfs::context {

/// The step with the revision in effect at the end of the path; nullopt if there is none or its text is empty. Errors:
/// io, stale.
Result<std::optional<std::size_t>> find_notes(const ContextPath& path, const Source& source);

/// The message that shows the notebook in `entry`, which must be such a custom entry.
std::string notes_message(const json::Document& entry);

}  // namespace arborfs::context
