#include <algorithm>
#include <array>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/entry/views.h"
#include "core/log/redacted_log.h"
#include "core/views/overview_pages.h"
#include "core/write/verbs.h"
#include "fs/nodes/node_table.h"

namespace arborfs {

namespace {

/// A name in the root.
struct RootRow {
  std::string_view name;
  Kind kind;
  bool on_read_only = true;
  bool listed = true;
};

/// A stream has no end, but a walk of the mount must end, even one that follows links: so no listing has `events`
/// (CONTRACT.md 2.6).
constexpr std::array kRootRows = {
    RootRow{"README.md", Kind::readme},
    RootRow{".rgignore", Kind::rgignore, true, false},
    RootRow{"index.html", Kind::index_page},
    RootRow{"stats.html", Kind::stats_file, true, false},  // a look at it reads all logs
    RootRow{"status.json", Kind::mount_status},
    RootRow{"operations", Kind::operations},
    RootRow{"new", Kind::new_control, false},
    RootRow{"events", Kind::events, false, false},
    RootRow{"projects", Kind::projects},
    RootRow{"by-id", Kind::by_id},
    RootRow{"by-agent", Kind::by_agent},
    RootRow{"tags", Kind::tags},
    RootRow{"recent", Kind::recent},
    RootRow{"by-file", Kind::by_file},
    RootRow{"search", Kind::search},
    RootRow{"stats", Kind::stats},
    RootRow{"history", Kind::history},
    RootRow{"terminals", Kind::terminals},
    RootRow{"blobs", Kind::blobs},
};

/// Why the sessions of a store cannot be listed; "" if they can.
std::string problem_beside(const Hanging& hanging, std::uint8_t number, const Store& store) {
  std::string words;
  for (const auto& [submount, sentence] : hanging.submounts) {
    if (submount.store == number) {
      words += (words.empty() ? "" : "; ") + sentence;
    }
  }
  const auto problem = words.empty() ? problem_of(store) : std::nullopt;
  return problem ? problem->words : words;
}

std::vector<MountStatus::StoreRow> rows_of(const StoreSet& stores, const Hanging& hanging) {
  std::vector<MountStatus::StoreRow> rows;
  for (const auto& store : stores) {
    const std::string problem = problem_beside(hanging, static_cast<std::uint8_t>(rows.size()), *store);
    rows.push_back({std::string(store->format().agent), store->paths().agent_dir, 0, problem, {}});
  }
  return rows;
}

std::string status_text(const MountState& state, const Hanging& hanging) {
  const Catalog& catalog = state.catalog;
  const auto view = catalog.view();
  MountStatus status;
  status.version = ARBORFS_VERSION;
  const auto silent = hanging.stores();
  const Store& main = catalog.stores().main(silent);
  const auto is_main = [&](std::uint8_t number) { return catalog.stores().at(number).get() == &main; };
  status.agent_dir = main.paths().agent_dir;
  status.store_present = std::any_of(silent.begin(), silent.end(), is_main) || main.present();
  status.projects = view->projects.size();
  status.sessions = view->by_id.size();
  status.stores = rows_of(catalog.stores(), hanging);
  for (const auto& [name, session] : view->by_id) {
    ++status.stores[session->store_number()].sessions;
    const std::size_t bytes = session->memory_bytes();
    status.index_bytes += bytes;
    status.indexed_sessions += bytes != 0 ? 1 : 0;
    status.unreadable_sessions += session->is_readable() ? 0 : 1;
  }
  for (const LeftOut& file : catalog.left_out()) {
    ++status.stores[file.store].left_out[file.reason];
  }
  status.watching = state.watching();
  if (const LogRedaction* const redaction = catalog.stores().redaction()) {
    status.redacted = MountStatus::Redacted{redaction->secrets(), redaction->lines_left_out()};
  }
  status.last_errors = catalog.last_errors();
  return mount_status_json(status);
}

bool changes_often(Kind kind) {
  return kind == Kind::mount_status || kind == Kind::operations || kind == Kind::index_page;
}

/// A file as it is now, under the node of its version.
Result<SnapshotPtr> file_now(MountState& state, RequestContext& call, Kind kind) {
  std::string text;
  std::int64_t mtime_ns = now_ns();
  const std::uint64_t sequence = state.catalog.feed().last_sequence();
  if (auto known = kind == Kind::index_page ? state.index_page.fresh(state.catalog.feed()) : nullptr) {
    return known;
  }
  if (kind == Kind::operations) {
    ASSIGN_OR_RETURN(const auto all, state.catalog.operations().all());
    text = operations_text(grouped_operations(all));
    mtime_ns = all.empty() ? state.mounted_ns : all.back().time_ms * 1'000'000;
  } else if (kind == Kind::index_page) {
    const auto view = state.catalog.view();
    text = index_page(*view);
    const auto newest = view->recent(1);
    mtime_ns = newest.empty() ? state.mounted_ns : newest.front()->mtime_ns();
  } else {
    const auto present = [&state](const Hanging& hanging) { return Result<std::string>(status_text(state, hanging)); };
    ASSIGN_OR_RETURN(text, beside_hanging<std::string>(state, call, present));
  }
  text = state.shown(std::move(text));
  const NodeId file(kind, 0, 0);
  const NodeId node(kind, 0, state.versions.version_of(file, xxh64(text)));
  auto document = text_document(
      state, {node, stable_ino(0, word_of(node)), FileType::file, CacheTtl::forever, text.size(), mtime_ns}, text);
  if (kind == Kind::index_page) {
    state.index_page.keep(document, sequence);
  }
  return document;
}

}  // namespace

namespace root_nodes {

namespace {

Result<Attr> attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  return directory_attr(node, 1, state.mounted_ns);
}

Result<Child> lookup(MountState& state, RequestContext& call, NodeId /*node*/, std::string_view name) {
  for (const RootRow& row : kRootRows) {
    if (row.name != name || (state.read_only && !row.on_read_only)) {
      continue;
    }
    if (row.kind == Kind::stats_file) {
      return stats_nodes::page_child(state, call);
    }
    if (changes_often(row.kind)) {
      ASSIGN_OR_RETURN(const auto document, file_now(state, call, row.kind));
      return Child{document->attr.node, CacheTtl::moment};
    }
    return Child{NodeId(row.kind, 0, 0), CacheTtl::forever};
  }
  return no_such_name();
}

Result<ListingPtr> list(MountState& state, RequestContext& /*call*/, NodeId /*node*/) {
  std::vector<NamesSnapshot::Item> items;
  for (const RootRow& row : kRootRows) {
    if (!row.listed || (state.read_only && !row.on_read_only)) {
      continue;
    }
    NamesSnapshot::Item item{std::string(row.name), {NodeId(row.kind, 0, 0), CacheTtl::forever}, std::nullopt};
    if (changes_often(row.kind)) {
      item.brief =
          Attr{item.child.node, stable_ino(0, word_of(item.child.node)), FileType::file, CacheTtl::moment, 0, 0};
    }
    items.push_back(std::move(item));
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), 0));
}

/// A file whose text never changes.
SnapshotPtr fixed_document(MountState& state, NodeId node, std::string_view text) {
  return text_document(
      state, {node, stable_ino(0, word_of(node)), FileType::file, CacheTtl::forever, text.size(), state.mounted_ns},
      text);
}

Result<SnapshotPtr> readme(MountState& state, RequestContext& /*call*/, NodeId node) {
  const MountKind kind = state.catalog.stores().redaction() != nullptr ? MountKind::redacted
                         : state.read_only                             ? MountKind::read_only
                                                                       : MountKind::writable;
  return fixed_document(state, node, mount_readme(ARBORFS_VERSION, kind));
}

Result<SnapshotPtr> rgignore(MountState& state, RequestContext& /*call*/, NodeId node) {
  return fixed_document(state, node, mount_rgignore());
}

Result<Attr> file_attr(MountState& state, RequestContext& call, NodeId node) {
  if (const auto known = state.documents.find(node)) {
    return known->attr;
  }
  ASSIGN_OR_RETURN(const auto now, file_now(state, call, node.kind()));
  return now->attr.node == node ? Result<Attr>(now->attr) : Result<Attr>(stale_error());
}

Result<OpenFilePtr> file_open(MountState& state, RequestContext& call, NodeId node) {
  auto document = state.documents.find(node);
  const auto fresh = std::chrono::steady_clock::now() - kJustLookedUp;
  if (!document || document->made <= fresh || state.written_since(0, document->made)) {
    ASSIGN_OR_RETURN(document, file_now(state, call, node.kind()));
  }
  if (document->attr.node != node) {
    return stale_error();
  }
  return file_of(std::move(document));
}

Result<Attr> events_attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  return Attr{node, stable_ino(0, word_of(node)), FileType::file, CacheTtl::glance, 0, state.mounted_ns};
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::root, "root", attr, lookup, list),
      document_row<readme>(Kind::readme, "readme"),
      document_row<rgignore>(Kind::rgignore, "rgignore"),
      file_row(Kind::mount_status, "mount-status", file_attr, file_open),
      file_row(Kind::operations, "operations", file_attr, file_open),
      file_row(Kind::index_page, "index-page", file_attr, file_open),
      file_row(Kind::events, "events", events_attr, nullptr),
  };
  return kRows;
}

}  // namespace root_nodes

}  // namespace arborfs

namespace arborfs::control_nodes {

namespace {

Attr control_attr(const MountState& state, NodeId node, std::uint64_t ino) {
  Attr attr{node, ino, FileType::file, CacheTtl::forever, 0, state.mounted_ns};
  attr.writable = true;
  return attr;
}

}  // namespace

bool is_in(const MountState& state, const Session& session, std::string_view verb) {
  const Verb* row = find_verb(verb);
  return !state.read_only && row != nullptr && row->is_taken_by(session.format());
}

namespace {

Result<Attr> attr(MountState& state, RequestContext& call, NodeId node) {
  if (node.kind() == Kind::new_control) {
    return control_attr(state, node, stable_ino(0, word_of(node)));
  }
  ASSIGN_OR_RETURN(const auto ref, session_of(state, node));
  if (node.kind() == Kind::control) {
    if (ControlInodes::verb_place(node) >= all_verbs().size()) {
      return stale_error();
    }
    return control_attr(state, node,
                        stable_ino(ref.seed, word_of(node), all_verbs()[ControlInodes::verb_place(node)].name));
  }
  ASSIGN_OR_RETURN(const auto here, state_of(state, call, node));
  return control_attr(state, node, entry_ino(ref.seed, word_of(node), here.guard.index(), node.item()));
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      file_row(Kind::new_control, "new", attr, nullptr),
      file_row(Kind::control, "control", attr, nullptr),
      file_row(Kind::branch_append, "branch-append", attr, nullptr),
  };
  return kRows;
}

}  // namespace arborfs::control_nodes
