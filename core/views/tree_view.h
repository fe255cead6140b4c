// tree.txt: the tree drawn with the first words of each entry, which takes one read of the log. Any thread.
#pragma once

#include <memory>

#include "core/log/content.h"
#include "core/session/session.h"

namespace arborfs {

/// The tree as it was when this was called. Holds up nobody else at the session: its guard is taken for a moment at a
/// time, and what is appended meanwhile is not drawn. Needs Depth::index. Beyond kMaxWorded entries the first words are
/// left out, the tree is whole. Errors: stale, io.
Result<std::shared_ptr<const Content>> tree_document(const Session& session);
inline constexpr std::uint32_t kMaxWorded = 100'000;

}  // namespace arborfs
