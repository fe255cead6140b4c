// The kinds of nodes that are views of a session: Kind::view and the numbers after it, in the order of session_views().
#pragma once

#include <cstddef>

#include "core/views/session_views.h"
#include "fs/tree/node_id.h"

namespace arborfs {

inline constexpr std::size_t kFirstView = static_cast<std::size_t>(Kind::view);

constexpr bool is_view(Kind kind) {
  return kind >= Kind::view;
}

/// The row of a kind for which is_view().
inline const ViewRow& view_of(Kind kind) {
  return session_views()[static_cast<std::size_t>(kind) - kFirstView];
}

/// `view` is a row of session_views().
inline Kind kind_of(const ViewRow& view) {
  return static_cast<Kind>(kFirstView + static_cast<std::size_t>(&view - session_views().data()));
}

}  // namespace arborfs
