#include "fs/nodes/node_table.h"

#include <algorithm>
#include <array>

#include "fs/nodes/node_families.h"

namespace arborfs {

namespace {

using Table = std::array<NodeRow, kFirstView + 1>;

Table all_rows() {
  Table table{};
  for (const NodeRows rows :
       {root_nodes::rows(), project_nodes::rows(), shortcut_nodes::rows(), title_nodes::rows(), search_nodes::rows(),
        stats_nodes::rows(), history_nodes::rows(), session_nodes::rows(), document_nodes::rows(), entry_nodes::rows(),
        branch_nodes::rows(), label_nodes::rows(), control_nodes::rows(), artifact_nodes::rows(),
        shown_file_nodes::rows(), blob_nodes::rows()}) {
    for (const NodeRow& row : rows) {
      table.at(static_cast<std::size_t>(row.kind)) = row;
    }
  }
  return table;
}

}  // namespace

const NodeRow& row_of(Kind kind) {
  static const Table kTable = all_rows();
  return kTable[std::min(static_cast<std::size_t>(kind), kFirstView)];
}

Result<Attr> attr_of(MountState& state, RequestContext& call, NodeId node) {
  return row_of(node.kind()).attr(state, call, node);
}

}  // namespace arborfs
