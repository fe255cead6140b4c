// The families of nodes; node_table.cc puts their functions into one table. Each function follows the contract of
// NodeRow. No family knows the kernel's side.
#pragma once

#include <string>
#include <string_view>

#include "core/views/make_view.h"
#include "core/views/shown_damage.h"
#include "fs/nodes/node_table.h"

namespace arborfs {

/// The root, README.md, status.json, events.
namespace root_nodes {
Result<Attr> attr(MountState&, RequestContext&, NodeId);
Result<Child> lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, RequestContext&, NodeId);
Result<Attr> readme_attr(MountState&, RequestContext&, NodeId);
Result<OpenFilePtr> readme_open(MountState&, RequestContext&, NodeId);
Result<Attr> status_attr(MountState&, RequestContext&, NodeId);
Result<OpenFilePtr> status_open(MountState&, RequestContext&, NodeId);
Result<Attr> events_attr(MountState&, RequestContext&, NodeId);
Result<Attr> events_link_attr(MountState&, RequestContext&, NodeId);
Result<std::string> events_link_target(MountState&, RequestContext&, NodeId);
}  // namespace root_nodes

/// projects/ and its contents, down to the sessions.
namespace project_nodes {
Result<Attr> attr(MountState&, RequestContext&, NodeId);
Result<Child> lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, RequestContext&, NodeId);
Result<Attr> project_attr(MountState&, RequestContext&, NodeId);
Result<Child> project_lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> project_list(MountState&, RequestContext&, NodeId);
/// children/ of a session.
Result<Attr> children_attr(MountState&, RequestContext&, NodeId);
Result<Child> children_lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> children_list(MountState&, RequestContext&, NodeId);
Result<Attr> cwd_attr(MountState&, RequestContext&, NodeId);
Result<OpenFilePtr> cwd_open(MountState&, RequestContext&, NodeId);
Result<Attr> alias_attr(MountState&, RequestContext&, NodeId);
Result<std::string> alias_target(MountState&, RequestContext&, NodeId);
}  // namespace project_nodes

/// by-id/, by-agent/, recent/, terminals/: symlinks to sessions, and those in projects, in by-title/ and in search/.
namespace shortcut_nodes {
/// The folder of an agent in by-agent/.
NodeId agent_folder(std::string_view agent);
/// The node of a symlink to a session.
NodeId link_node(MountState&, const CatalogView&, Kind kind, const Session&);
Result<Child> agents_lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> agents_list(MountState&, RequestContext&, NodeId);
Result<Attr> agent_attr(MountState&, RequestContext&, NodeId);
Result<Attr> attr(MountState&, RequestContext&, NodeId);
Result<Child> lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, RequestContext&, NodeId);
Result<Attr> link_attr(MountState&, RequestContext&, NodeId);
Result<std::string> link_target(MountState&, RequestContext&, NodeId);
}  // namespace shortcut_nodes

/// by-title/ of a project, and recent/. Listing them reads the first messages of sessions that have no title, and so
/// does looking up a name that they have not listed.
namespace title_nodes {
Result<Attr> attr(MountState&, RequestContext&, NodeId);
Result<Child> lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, RequestContext&, NodeId);
Result<Child> recent_lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> recent_list(MountState&, RequestContext&, NodeId);
}  // namespace title_nodes

/// search/: a folder for each query, created when it is looked up. Looking up a query does not search; listing its
/// folder, and looking up names in it, does.
namespace search_nodes {
Result<Attr> attr(MountState&, RequestContext&, NodeId);
Result<Child> lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, RequestContext&, NodeId);
Result<Attr> query_attr(MountState&, RequestContext&, NodeId);
Result<Child> query_lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> query_list(MountState&, RequestContext&, NodeId);
/// excerpts.md and hits.json.
Result<Attr> file_attr(MountState&, RequestContext&, NodeId);
Result<OpenFilePtr> file_open(MountState&, RequestContext&, NodeId);
}  // namespace search_nodes

/// stats/: a file for each kind of sum. Listing the folder reads nothing; looking up a name in it reads all logs.
namespace stats_nodes {
Result<Attr> attr(MountState&, RequestContext&, NodeId);
Result<Child> lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, RequestContext&, NodeId);
Result<Attr> file_attr(MountState&, RequestContext&, NodeId);
Result<OpenFilePtr> file_open(MountState&, RequestContext&, NodeId);
}  // namespace stats_nodes

/// history/: a file for each day on which prompts were typed.
namespace history_nodes {
Result<Attr> attr(MountState&, RequestContext&, NodeId);
Result<Child> lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, RequestContext&, NodeId);
Result<Attr> file_attr(MountState&, RequestContext&, NodeId);
Result<OpenFilePtr> file_open(MountState&, RequestContext&, NodeId);
}  // namespace history_nodes

/// A session's folder, and its link `leaf`.
namespace session_nodes {
Result<Attr> attr(MountState&, RequestContext&, NodeId);
Result<Child> lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, RequestContext&, NodeId);
/// The folders entries/, text/, images/, branches/, labels/, damage/ themselves.
Result<Attr> folder_attr(MountState&, RequestContext&, NodeId);
Result<Attr> leaf_attr(MountState&, RequestContext&, NodeId);
Result<std::string> leaf_target(MountState&, RequestContext&, NodeId);
}  // namespace session_nodes

/// The readable files of a session: all documents that core makes.
namespace document_nodes {
Result<Attr> attr(MountState&, RequestContext&, NodeId);
/// The attributes of a view of one item, which take less work than its document.
Result<Attr> item_attr(MountState&, RequestContext&, NodeId);
Result<OpenFilePtr> open(MountState&, RequestContext&, NodeId);
}  // namespace document_nodes

/// entries/, text/, images/. The functions for attributes are those of an ItemRow (nodes_views.cc), as in branches/ and
/// damage/.
namespace entry_nodes {
Result<Attr> attr(MountState&, RequestContext&, const SessionRef&, NodeId);
Result<Child> lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, RequestContext&, NodeId);
Result<Child> images_lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> images_list(MountState&, RequestContext&, NodeId);
Result<Attr> image_attr(MountState&, RequestContext&, const SessionRef&, NodeId);
/// The mtime of an entry's files; the log's if the entry has no time.
std::int64_t entry_time(const Session::Guard& guard, Ordinal ordinal);
}  // namespace entry_nodes

/// branches/ and below.
namespace branch_nodes {
Result<Child> lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, RequestContext&, NodeId);
Result<Attr> branch_attr(MountState&, RequestContext&, NodeId);
Result<Child> branch_lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> branch_list(MountState&, RequestContext&, NodeId);
Result<Child> path_lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> path_list(MountState&, RequestContext&, NodeId);
Result<Attr> document_attr(MountState&, RequestContext&, const SessionRef&, NodeId);
Result<Attr> link_attr(MountState&, RequestContext&, NodeId);
Result<std::string> link_target(MountState&, RequestContext&, NodeId);
}  // namespace branch_nodes

/// labels/ and damage/.
namespace label_nodes {
Result<Child> lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, RequestContext&, NodeId);
Result<Attr> link_attr(MountState&, RequestContext&, NodeId);
Result<std::string> link_target(MountState&, RequestContext&, NodeId);
Result<Child> damage_lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> damage_list(MountState&, RequestContext&, NodeId);
Result<Attr> run_attr(MountState&, RequestContext&, const SessionRef&, NodeId);
}  // namespace label_nodes

/// Control files: `new`, those of a session, `append` of a branch (control_file.h).
namespace control_nodes {
Result<Attr> attr(MountState&, RequestContext&, NodeId);
/// True if the session has a control file for this verb: never on a read-only mount, else if its format takes the verb.
bool is_in(const MountState& state, const Session& session, std::string_view verb);
}  // namespace control_nodes

/// artifacts/: the agent's own files next to the log, shown as they are on disk.
namespace artifact_nodes {
Result<Attr> attr(MountState&, RequestContext&, NodeId);
Result<Child> lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, RequestContext&, NodeId);
Result<OpenFilePtr> open(MountState&, RequestContext&, NodeId);
}  // namespace artifact_nodes

/// checkpoints/ and native/: files that a store shows for a session (core/store/shown_files.h).
namespace shown_file_nodes {
Result<Attr> attr(MountState&, RequestContext&, NodeId);
Result<Child> lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, RequestContext&, NodeId);
Result<OpenFilePtr> open(MountState&, RequestContext&, NodeId);
}  // namespace shown_file_nodes

namespace blob_nodes {
Result<Attr> folder_attr(MountState&, RequestContext&, NodeId);
Result<Child> lookup(MountState&, RequestContext&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, RequestContext&, NodeId);
Result<Attr> attr(MountState&, RequestContext&, NodeId);
Result<OpenFilePtr> open(MountState&, RequestContext&, NodeId);
}  // namespace blob_nodes

// Shared between families.

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
