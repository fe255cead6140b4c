// tree.txt: the tree drawn with the first words of each entry, which takes one read of the log. Any thread.
#pragma once

#include <string>

#include "core/session/session.h"

namespace arborfs {

/// Needs Depth::index. Beyond kMaxWorded entries the first words are left out, the tree is whole. Errors: stale, io.
Result<std::string> tree_document(const Session& session);
inline constexpr std::uint32_t kMaxWorded = 100'000;

}  // namespace arborfs
