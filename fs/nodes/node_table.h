// The table of everything in the mount: one row for each kind of node, with its functions for attributes, listing and
// opening (node_families.h). The views of a session share one row; session_views.h distinguishes them.
#pragma once

#include <string>
#include <string_view>

#include "fs/nodes/directory_snapshot.h"
#include "fs/nodes/open_file.h"
#include "fs/tree/attr.h"
#include "fs/tree/view_kinds.h"

namespace arborfs {

/// Functions are null where they do not apply to a kind. Errors of all: stale (gone; the kernel then looks the path up
/// again), interrupted (deferred), io and the errors of reading a log.
struct NodeRow {
  Kind kind{};
  std::string_view word;  // part of the inode number, except of views (word_of); must never change
  Result<Attr> (*attr)(MountState&, RequestContext&, NodeId) = nullptr;
  Result<Child> (*lookup)(MountState&, RequestContext&, NodeId, std::string_view name) = nullptr;  // folders; not_found
  Result<ListingPtr> (*list)(MountState&, RequestContext&, NodeId) = nullptr;                      // folders
  Result<OpenFilePtr> (*open)(MountState&, RequestContext&, NodeId) = nullptr;                     // files
  Result<std::string> (*target)(MountState&, RequestContext&, NodeId) = nullptr;                   // symlinks
};

const NodeRow& row_of(Kind kind);
inline std::string_view word_of(NodeId node) {
  return is_view(node.kind()) ? view_of(node.kind()).word : row_of(node.kind()).word;
}
Result<Attr> attr_of(MountState& state, RequestContext& call, NodeId node);

}  // namespace arborfs
