// The views of a whole session, as one table: the files of its folder in the mount that are not control files. A new
// view is a row here and its function; the mount takes name, attributes, opening and invalidation from the row. Any
// thread.
#pragma once

#include <span>
#include <string_view>

#include "core/views/view_row.h"

namespace arborfs {

/// In the order in which the folder lists them, except that those whose size takes work come last.
std::span<const ViewRow> session_views();
/// Null for a name that is not a view.
const ViewRow* find_view(std::string_view name);

}  // namespace arborfs
