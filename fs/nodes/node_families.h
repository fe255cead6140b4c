// The families of nodes: each nodes_*.cc has the rows of one family, which node_table.cc puts into one table. Here is
// what families share. No family knows the kernel's side.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/views/make_view.h"
#include "core/views/shown_damage.h"
#include "fs/nodes/node_table.h"

namespace arborfs {

using NodeRows = std::span<const NodeRow>;

constexpr NodeRow folder_row(Kind kind, std::string_view word, decltype(NodeRow::attr) attr,
                             decltype(NodeRow::lookup) lookup, decltype(NodeRow::list) list) {
  return {kind, word, attr, lookup, list, nullptr, nullptr};
}
constexpr NodeRow file_row(Kind kind, std::string_view word, decltype(NodeRow::attr) attr,
                           decltype(NodeRow::open) open) {
  return {kind, word, attr, nullptr, nullptr, open, nullptr};
}
constexpr NodeRow link_row(Kind kind, std::string_view word, decltype(NodeRow::attr) attr,
                           decltype(NodeRow::target) target) {
  return {kind, word, attr, nullptr, nullptr, nullptr, target};
}

// clang-format off
namespace artifact_nodes { NodeRows rows(); }    // artifacts/: the agent's own files next to the log
namespace blob_nodes { NodeRows rows(); }
namespace branch_nodes { NodeRows rows(); }      // branches/ and below
namespace control_nodes { NodeRows rows(); }     // `new`, those of a session, `append` of a branch (control_file.h)
namespace document_nodes { NodeRows rows(); }    // the readable files of a session: all documents that core makes
namespace entry_nodes { NodeRows rows(); }       // entries/, text/, images/
namespace history_nodes { NodeRows rows(); }     // history/: a file for each day on which prompts were typed
namespace label_nodes { NodeRows rows(); }       // labels/ and damage/
namespace project_nodes { NodeRows rows(); }     // projects/, down to the sessions, and children/ of a session
namespace root_nodes { NodeRows rows(); }        // the root, README.md, status.json, events
namespace search_nodes { NodeRows rows(); }      // search/: a folder for each query, which searches when it is listed
namespace session_nodes { NodeRows rows(); }     // a session's folder, and its link `leaf`
namespace shortcut_nodes { NodeRows rows(); }    // by-id/, by-agent/, terminals/, and all symlinks to sessions
namespace shown_file_nodes { NodeRows rows(); }  // checkpoints/ and native/ (core/store/stored_files.h)
namespace stats_nodes { NodeRows rows(); }       // stats/: a file for each kind of sum; looking it up reads all logs
namespace title_nodes { NodeRows rows(); }       // by-title/ and recent/, which read the first messages of sessions
// clang-format on

namespace shortcut_nodes {
/// The attributes of a folder of symlinks in the root.
Result<Attr> attr(MountState&, RequestContext&, NodeId);
/// The folder of an agent in by-agent/.
NodeId agent_folder(std::string_view agent);
/// The node of a symlink to a session.
NodeId link_node(MountState&, const CatalogView&, Kind kind, const Session&);
}  // namespace shortcut_nodes

namespace entry_nodes {
// The functions for attributes are those of an ItemRow (nodes_views.cc), as in branches/ and damage/.
Result<Attr> attr(MountState&, RequestContext&, const SessionRef&, NodeId);
Result<Attr> image_attr(MountState&, RequestContext&, const SessionRef&, NodeId);
/// The mtime of an entry's files; the log's if the entry has no time.
std::int64_t entry_time(const Session::Guard& guard, Ordinal ordinal);
}  // namespace entry_nodes
namespace branch_nodes {
Result<Attr> document_attr(MountState&, RequestContext&, const SessionRef&, NodeId);
}
namespace label_nodes {
Result<Attr> run_attr(MountState&, RequestContext&, const SessionRef&, NodeId);
}
namespace project_nodes {
Result<Attr> project_attr(MountState&, RequestContext&, NodeId);
}
namespace session_nodes {
/// The attributes of the folders entries/, text/, images/, branches/, labels/, damage/.
Result<Attr> folder_attr(MountState&, RequestContext&, NodeId);
}  // namespace session_nodes
namespace control_nodes {
/// True if the session has a control file for this verb: never on a read-only mount, else if its format takes the verb.
bool is_in(const MountState& state, const Session& session, std::string_view verb);
}  // namespace control_nodes

/// Catalog::beside_hanging for a request: where it might wait for a submount, it goes on where it may take long.
template <class T>
Result<T> beside_hanging(MountState& state, RequestContext& call,
                         std::function<Result<T>(const Hanging&, const std::atomic<bool>* cancelled)> work) {
  if (state.catalog.has_submounts() && !call.may_take_long()) {
    return call.defer();
  }
  return state.catalog.beside_hanging<T>(call.cancelled(), std::move(work));
}

/// The document of a node: the known one if there is one, else a new one. `stale` if the session no longer shows this
/// node.
Result<SnapshotPtr> document_of_node(MountState& state, RequestContext& call, NodeId node);
/// A document as an open file.
OpenFilePtr file_of(SnapshotPtr document);
/// The node of a view of the session's present state; `view` is a row of session_views(). Errors: as resolve_session.
/// `ref` must have been refreshed to depth_of(view).
Result<NodeId> present_node(MountState& state, RequestContext& call, const SessionRef& ref, const ViewRow& view);
/// How far the log must be read for a view.
Depth depth_of(const ViewRow& view);

/// For a node whose state is over: its document, if it was looked up just now (kJustLookedUp), or found by this
/// request, which then asks for its attributes; otherwise stale. `session`: of which the document is, 0 if it is of
/// all.
Result<SnapshotPtr> just_looked_up(MountState& state, const RequestContext& call, NodeId node, std::uint32_t session);
/// A document whose text fs makes itself, for a node that never changes.
SnapshotPtr literal_document(const Attr& attr, std::string_view text);

}  // namespace arborfs
