// The views of one item of a session: an entry, an image, a branch, a piece of damage. The folder that contains them
// determines their names. Any thread.
#pragma once

#include "core/views/view_row.h"

namespace arborfs::item_views {

extern const ViewRow entry_json;         // item: ordinal
extern const ViewRow entry_text;         // item: ordinal
extern const ViewRow image;              // item: index into TextSizes::images
extern const ViewRow damage;             // item: index into shown_damage()
extern const ViewRow damage_tail;        // the last of shown_damage(), which may still grow
extern const ViewRow branch_context;     // item: ordinal of the branch's last entry
extern const ViewRow branch_transcript;  // item: ordinal of the branch's last entry

}  // namespace arborfs::item_views
