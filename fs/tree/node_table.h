// The one table of what there is in the mount: a row for each kind of node, saying how it is described, listed, opened.
// A new view is a row here, a name where it hangs, and a function in core that makes its bytes.
#pragma once

#include <string>
#include <string_view>

#include "fs/tree/attr.h"
#include "fs/tree/directory_snapshot.h"
#include "fs/tree/open_file.h"

namespace arborfs {

/// Functions are null where a kind has no such thing. Errors of all: stale (gone; the kernel then looks the path up
/// anew), interrupted (deferred), io and what reading a log says.
struct NodeRow {
  Kind kind;
  std::string_view word;  // part of the inode number: never changes
  Result<Attr> (*attr)(MountState&, RequestContext&, NodeId);
  Result<Child> (*lookup)(MountState&, RequestContext&, NodeId, std::string_view name) = nullptr;  // folders; not_found
  Result<ListingPtr> (*list)(MountState&, RequestContext&, NodeId) = nullptr;                      // folders
  Result<OpenFilePtr> (*open)(MountState&, RequestContext&, NodeId) = nullptr;                     // files
  Result<std::string> (*target)(MountState&, RequestContext&, NodeId) = nullptr;                   // symlinks
};

const NodeRow& row_of(Kind kind);
inline std::string_view word_of(NodeId node) {
  return row_of(node.kind()).word;
}
Result<Attr> attr_of(MountState& state, RequestContext& call, NodeId node);

}  // namespace arborfs
