// tree.txt: the tree drawn with the first words of each entry, which takes one read of the log. Any thread.
#pragma once

#include <memory>

#include "core/model/content.h"
#include "core/session/session.h"

namespace arborfs {

/// The tree as it was at the time of the call. Does not block other users of the session: takes its guard only for
/// short steps, and does not draw entries that are appended meanwhile. Needs Depth::index. Above kMaxWorded entries the
/// first words are left out; the tree is complete. Errors: stale, io; interrupted while the mount is being unmounted.
Result<std::shared_ptr<const Content>> tree_document(const Session& session);
inline constexpr std::uint32_t kMaxWorded = 100'000;

}  // namespace arborfs
