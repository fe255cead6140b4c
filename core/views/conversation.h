// The context and the transcript of a session, as the views of its leaf and of its branches show them. Any thread.
#pragma once

#include "core/views/view_row.h"

namespace arborfs {

/// What the agent would send to a model after `ordinal`; kNoEntry: after the leaf. Errors: as ViewRow::make.
ContentResult context_at(const ViewRequest& request, Ordinal ordinal);
/// The texts of the path for people (people_path.h) to `ordinal`; kNoEntry: to the leaf. Errors: as ViewRow::make.
ContentResult transcript_at(const ViewRequest& request, Ordinal ordinal);

}  // namespace arborfs
