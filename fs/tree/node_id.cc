#include "fs/tree/node_id.h"

#include "fs/tree/view_kinds.h"

namespace arborfs {

bool NodeId::is_known() const {
  return (value_ >> 56U) < kFirstView + session_views().size() && (kind() != Kind::root || value_ == 1);
}

}  // namespace arborfs
