// The families of nodes; node_table.cc puts their functions into the one table. Each function follows the contract of
// NodeRow. No family knows the kernel's side.
#pragma once

#include <string>
#include <string_view>

#include "core/session/documents.h"
#include "fs/node_table.h"

namespace arborfs {

/// The root, README.md, status.json, events.
namespace root_nodes {
Result<Attr> attr(MountState&, Call&, NodeId);
Result<Child> lookup(MountState&, Call&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, Call&, NodeId);
Result<Attr> readme_attr(MountState&, Call&, NodeId);
Result<OpenFilePtr> readme_open(MountState&, Call&, NodeId);
Result<Attr> status_attr(MountState&, Call&, NodeId);
Result<OpenFilePtr> status_open(MountState&, Call&, NodeId);
Result<Attr> events_attr(MountState&, Call&, NodeId);
Result<Attr> events_link_attr(MountState&, Call&, NodeId);
Result<std::string> events_link_target(MountState&, Call&, NodeId);
}  // namespace root_nodes

/// projects/ and what is in it, down to the sessions.
namespace project_nodes {
Result<Attr> attr(MountState&, Call&, NodeId);
Result<Child> lookup(MountState&, Call&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, Call&, NodeId);
Result<Attr> project_attr(MountState&, Call&, NodeId);
Result<Child> project_lookup(MountState&, Call&, NodeId, std::string_view name);
Result<ListingPtr> project_list(MountState&, Call&, NodeId);
Result<Attr> cwd_attr(MountState&, Call&, NodeId);
Result<OpenFilePtr> cwd_open(MountState&, Call&, NodeId);
Result<Attr> alias_attr(MountState&, Call&, NodeId);
Result<std::string> alias_target(MountState&, Call&, NodeId);
}  // namespace project_nodes

/// by-id/, recent/, terminals/: symlinks to sessions.
namespace shortcut_nodes {
Result<Attr> attr(MountState&, Call&, NodeId);
Result<Child> lookup(MountState&, Call&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, Call&, NodeId);
Result<Attr> link_attr(MountState&, Call&, NodeId);
Result<std::string> link_target(MountState&, Call&, NodeId);
}  // namespace shortcut_nodes

/// The folder of a session, and its leaf.
namespace session_nodes {
Result<Attr> attr(MountState&, Call&, NodeId);
Result<Child> lookup(MountState&, Call&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, Call&, NodeId);
/// entries/, text/, images/, branches/, labels/, damage/ themselves.
Result<Attr> folder_attr(MountState&, Call&, NodeId);
Result<Attr> leaf_attr(MountState&, Call&, NodeId);
Result<std::string> leaf_target(MountState&, Call&, NodeId);
}  // namespace session_nodes

/// The readable files of a session, all that core makes as documents.
namespace document_nodes {
Result<Attr> attr(MountState&, Call&, NodeId);
Result<OpenFilePtr> open(MountState&, Call&, NodeId);
}  // namespace document_nodes

/// entries/, text/, images/.
namespace entry_nodes {
Result<Attr> attr(MountState&, Call&, NodeId);
Result<Child> lookup(MountState&, Call&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, Call&, NodeId);
Result<Child> images_lookup(MountState&, Call&, NodeId, std::string_view name);
Result<ListingPtr> images_list(MountState&, Call&, NodeId);
Result<Attr> image_attr(MountState&, Call&, NodeId);
/// The time of an entry's files; the log's for an entry without one.
std::int64_t entry_time(const Session::Guard& guard, Ordinal ordinal);
}  // namespace entry_nodes

/// branches/ and below.
namespace branch_nodes {
Result<Child> lookup(MountState&, Call&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, Call&, NodeId);
Result<Attr> branch_attr(MountState&, Call&, NodeId);
Result<Child> branch_lookup(MountState&, Call&, NodeId, std::string_view name);
Result<ListingPtr> branch_list(MountState&, Call&, NodeId);
Result<Child> path_lookup(MountState&, Call&, NodeId, std::string_view name);
Result<ListingPtr> path_list(MountState&, Call&, NodeId);
Result<Attr> document_attr(MountState&, Call&, NodeId);
Result<Attr> link_attr(MountState&, Call&, NodeId);
Result<std::string> link_target(MountState&, Call&, NodeId);
}  // namespace branch_nodes

/// labels/ and damage/.
namespace label_nodes {
Result<Child> lookup(MountState&, Call&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, Call&, NodeId);
Result<Attr> link_attr(MountState&, Call&, NodeId);
Result<std::string> link_target(MountState&, Call&, NodeId);
Result<Child> damage_lookup(MountState&, Call&, NodeId, std::string_view name);
Result<ListingPtr> damage_list(MountState&, Call&, NodeId);
Result<Attr> run_attr(MountState&, Call&, NodeId);
}  // namespace label_nodes

/// Control files: `new`, those of a session, `append` of a branch (control_file.h).
namespace control_nodes {
Result<Attr> attr(MountState&, Call&, NodeId);
/// The node of the control file of a session that has this verb; its slot is the session's. The first of its doors
/// (doors.h).
NodeId in_session(std::uint32_t home, std::string_view verb);
}  // namespace control_nodes

/// artifacts/: the agent's own files beside the log, as they are on disk.
namespace artifact_nodes {
Result<Attr> attr(MountState&, Call&, NodeId);
Result<Child> lookup(MountState&, Call&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, Call&, NodeId);
Result<OpenFilePtr> open(MountState&, Call&, NodeId);
}  // namespace artifact_nodes

namespace blob_nodes {
Result<Attr> folder_attr(MountState&, Call&, NodeId);
Result<Child> lookup(MountState&, Call&, NodeId, std::string_view name);
Result<ListingPtr> list(MountState&, Call&, NodeId);
Result<Attr> attr(MountState&, Call&, NodeId);
Result<OpenFilePtr> open(MountState&, Call&, NodeId);
}  // namespace blob_nodes

// Shared between families.

/// The document that a node stands for now: found if somebody has it, else made. `stale` when the node no longer is
/// what the session shows.
Result<DocumentPtr> document_of_node(MountState& state, Call& call, NodeId node);
/// A document as an open file.
OpenFilePtr file_of(DocumentPtr document);
/// The node that stands for a document of the session's present state. Errors: as session_at; `ref` was refreshed to
/// document_depth(kind).
Result<NodeId> present_node(MountState& state, Call& call, const SessionRef& ref, Kind kind);
Depth document_depth(Kind kind);

/// Text that fs makes itself, as a document of a node that never changes.
DocumentPtr literal_document(const Attr& attr, std::string_view text);

}  // namespace arborfs
