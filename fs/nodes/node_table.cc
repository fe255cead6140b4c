#include "fs/nodes/node_table.h"

#include <algorithm>
#include <array>

#include "fs/nodes/nodes.h"

namespace arborfs {

namespace {

namespace artifacts = artifact_nodes;
namespace blobs = blob_nodes;
namespace branch = branch_nodes;
namespace control = control_nodes;
namespace document = document_nodes;
namespace entry = entry_nodes;
namespace label = label_nodes;
namespace project = project_nodes;
namespace prompts = history_nodes;
namespace root = root_nodes;
namespace searches = search_nodes;
namespace session = session_nodes;
namespace shortcut = shortcut_nodes;
namespace shown = shown_file_nodes;
namespace sums = stats_nodes;
namespace titles = title_nodes;

constexpr NodeRow folder(Kind kind, std::string_view word, decltype(NodeRow::attr) attr,
                         decltype(NodeRow::lookup) lookup, decltype(NodeRow::list) list) {
  return {kind, word, attr, lookup, list, nullptr, nullptr};
}

constexpr NodeRow file(Kind kind, std::string_view word, decltype(NodeRow::attr) attr, decltype(NodeRow::open) open) {
  return {kind, word, attr, nullptr, nullptr, open, nullptr};
}

constexpr NodeRow link(Kind kind, std::string_view word, decltype(NodeRow::attr) attr,
                       decltype(NodeRow::target) target) {
  return {kind, word, attr, nullptr, nullptr, nullptr, target};
}

constexpr std::array<NodeRow, kFirstView + 1> kRows = {
    folder(Kind::root, "root", root::attr, root::lookup, root::list),
    file(Kind::readme, "readme", root::readme_attr, root::readme_open),
    file(Kind::mount_status, "mount-status", root::status_attr, root::status_open),
    file(Kind::events, "events", root::events_attr, nullptr),
    link(Kind::events_link, "events-link", root::events_link_attr, root::events_link_target),
    file(Kind::new_control, "new", control::attr, nullptr),
    folder(Kind::projects, "projects", project::attr, project::lookup, project::list),
    folder(Kind::by_id, "by-id", shortcut::attr, shortcut::lookup, shortcut::list),
    folder(Kind::by_agent, "by-agent", shortcut::attr, shortcut::agents_lookup, shortcut::agents_list),
    folder(Kind::recent, "recent", shortcut::attr, titles::recent_lookup, titles::recent_list),
    folder(Kind::search, "search", searches::attr, searches::lookup, searches::list),
    folder(Kind::stats, "stats", sums::attr, sums::lookup, sums::list),
    folder(Kind::history, "history", prompts::attr, prompts::lookup, prompts::list),
    folder(Kind::terminals, "terminals", shortcut::attr, shortcut::lookup, shortcut::list),
    folder(Kind::blobs, "blobs", blobs::folder_attr, blobs::lookup, blobs::list),
    folder(Kind::project, "project", project::project_attr, project::project_lookup, project::project_list),
    file(Kind::project_cwd, "cwd", project::cwd_attr, project::cwd_open),
    link(Kind::project_alias, "project-alias", project::alias_attr, project::alias_target),
    folder(Kind::by_title, "by-title", titles::attr, titles::lookup, titles::list),
    folder(Kind::agent, "agent", shortcut::agent_attr, shortcut::lookup, shortcut::list),
    link(Kind::session_alias, "session-alias", shortcut::link_attr, shortcut::link_target),
    link(Kind::by_title_link, "by-title-link", shortcut::link_attr, shortcut::link_target),
    link(Kind::by_id_link, "by-id-link", shortcut::link_attr, shortcut::link_target),
    link(Kind::by_agent_link, "by-agent-link", shortcut::link_attr, shortcut::link_target),
    link(Kind::recent_link, "recent-link", shortcut::link_attr, shortcut::link_target),
    link(Kind::search_link, "search-link", shortcut::link_attr, shortcut::link_target),
    link(Kind::terminal_link, "terminal-link", shortcut::link_attr, shortcut::link_target),
    folder(Kind::search_query, "search-query", searches::query_attr, searches::query_lookup, searches::query_list),
    file(Kind::search_excerpts, "search-excerpts", searches::file_attr, searches::file_open),
    file(Kind::search_hits, "search-hits", searches::file_attr, searches::file_open),
    file(Kind::stats_file, "stats-file", sums::file_attr, sums::file_open),
    file(Kind::history_file, "history-file", prompts::file_attr, prompts::file_open),
    folder(Kind::session, "session", session::attr, session::lookup, session::list),
    file(Kind::damage_tail, "damage-tail", document::attr, document::open),
    folder(Kind::labels, "labels", session::folder_attr, label::lookup, label::list),
    file(Kind::control, "control", control::attr, nullptr),
    folder(Kind::artifact_dir, "artifacts", artifacts::attr, artifacts::lookup, artifacts::list),
    file(Kind::artifact_file, "artifact", artifacts::attr, artifacts::open),
    folder(Kind::checkpoint_dir, "checkpoints", shown::attr, shown::lookup, shown::list),
    file(Kind::checkpoint_file, "checkpoint", shown::attr, shown::open),
    folder(Kind::native_dir, "natives", shown::attr, shown::lookup, shown::list),
    file(Kind::native_file, "native", shown::attr, shown::open),
    folder(Kind::children, "children", project::children_attr, project::children_lookup, project::children_list),
    link(Kind::leaf_link, "leaf", session::leaf_attr, session::leaf_target),
    folder(Kind::entries, "entries", session::folder_attr, entry::lookup, entry::list),
    folder(Kind::texts, "texts", session::folder_attr, entry::lookup, entry::list),
    folder(Kind::images, "images", session::folder_attr, entry::images_lookup, entry::images_list),
    folder(Kind::branches, "branches", session::folder_attr, branch::lookup, branch::list),
    folder(Kind::damage, "damage", session::folder_attr, label::damage_lookup, label::damage_list),
    file(Kind::entry, "entry", document::item_attr, document::open),
    file(Kind::text, "text", document::item_attr, document::open),
    file(Kind::image, "image", document::item_attr, document::open),
    file(Kind::damage_run, "damage-run", document::item_attr, document::open),
    folder(Kind::branch, "branch", branch::branch_attr, branch::branch_lookup, branch::branch_list),
    file(Kind::branch_context, "branch-context", document::item_attr, document::open),
    file(Kind::branch_transcript, "branch-transcript", document::item_attr, document::open),
    folder(Kind::branch_entries, "branch-entries", branch::branch_attr, branch::path_lookup, branch::path_list),
    link(Kind::branch_entry_link, "branch-entry", branch::link_attr, branch::link_target),
    file(Kind::branch_append, "branch-append", control::attr, nullptr),
    link(Kind::branch_alias, "branch-alias", branch::link_attr, branch::link_target),
    link(Kind::current_link, "current", branch::link_attr, branch::link_target),
    link(Kind::label_link, "label", label::link_attr, label::link_target),
    file(Kind::blob, "blob", blobs::attr, blobs::open),
    file(Kind::view, "view", document::attr, document::open),
};

constexpr bool rows_are_in_order() {
  for (std::size_t at = 0; at < kRows.size(); ++at) {
    if (static_cast<std::size_t>(kRows[at].kind) != at) {
      return false;
    }
  }
  return true;
}
static_assert(rows_are_in_order());

}  // namespace

const NodeRow& row_of(Kind kind) {
  return kRows[std::min(static_cast<std::size_t>(kind), kFirstView)];
}

Result<Attr> attr_of(MountState& state, RequestContext& call, NodeId node) {
  return row_of(node.kind()).attr(state, call, node);
}

}  // namespace arborfs
