#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/views/session_views.h"
#include "fs/nodes/node_table.h"

namespace arborfs {

SnapshotPtr text_document(MountState& state, const Attr& attr, std::string_view text) {
  if (auto known = state.documents.find(attr.node)) {
    return known;
  }
  auto document = std::make_shared<Snapshot>();
  document->attr = attr;
  document->attr.size = text.size();
  document->content = literal_content(text);
  return state.documents.put_recent(std::move(document), false);
}

Result<SnapshotPtr> just_looked_up(MountState& state, const RequestContext& call, NodeId node, std::uint32_t session) {
  auto known = state.documents.find(node);
  const bool lately = known && std::chrono::steady_clock::now() - known->made < kJustLookedUp &&
                      !state.written_since(session, known->made);
  const bool is_right = known && (lately || known->made >= call.begun());
  return is_right ? Result<SnapshotPtr>(std::move(known)) : Result<SnapshotPtr>(stale_error());
}

namespace {

/// A kind of node that is the view of one item.
struct ItemRow {
  Kind kind;
  const ViewRow& view;
  /// The session has been refreshed to the view's depth. Errors: as NodeRow.
  Result<Attr> (*attr)(MountState&, RequestContext&, const SessionRef&, NodeId);
};

constexpr std::array kItemRows = {
    ItemRow{Kind::entry, item_views::entry_json, entry_nodes::attr},
    ItemRow{Kind::text, item_views::entry_text, entry_nodes::attr},
    ItemRow{Kind::image, item_views::image, entry_nodes::image_attr},
    ItemRow{Kind::damage_run, item_views::damage, label_nodes::run_attr},
    ItemRow{Kind::branch_context, item_views::branch_context, branch_nodes::document_attr},
    ItemRow{Kind::branch_transcript, item_views::branch_transcript, branch_nodes::document_attr},
    ItemRow{Kind::branch_page, item_views::branch_page, branch_nodes::document_attr},
    ItemRow{Kind::branch_context_page, item_views::branch_context_page, branch_nodes::document_attr},
};

/// The row of a kind that has one.
const ItemRow& item_row(Kind kind) {
  return *std::find_if(kItemRows.begin(), kItemRows.end() - 1, [&](const ItemRow& row) { return row.kind == kind; });
}

}  // namespace

const ViewRow& view_of_node(Kind kind) {
  if (is_view(kind)) {
    return view_of(kind);
  }
  return kind == Kind::damage_tail ? item_views::damage_tail : item_row(kind).view;
}

namespace {

/// One state of a session, as far as nodes distinguish states.
struct Stamp {
  std::uint32_t item = 0;
  Session::Raw raw;
};

/// Differs from that of another state of the session or of those in its children/.
std::uint32_t family_version(MountState& state, const SessionRef& ref, const ViewRow& view, std::uint32_t epoch) {
  std::string states = std::to_string(epoch);
  for (const SessionPtr& one : state.catalog.view()->descendants_of(ref.session->number())) {
    static_cast<void>(one->refresh(Depth::raw));  // a log that cannot be read is a state too
    const auto raw = one->raw();
    states += " " + std::to_string(one->number()) + " " + (raw ? std::to_string(raw->epoch) : "-");
  }
  return state.versions.version_of(NodeId(kind_of(view), ref.home, 0), xxh64(states));
}

Result<Stamp> stamp_now(MountState& state, const SessionRef& ref, const ViewRow& view) {
  Stamp stamp;
  if (view.validity == Validity::transcript) {
    ASSIGN_OR_RETURN(auto version, state.transcript_versions.version_of(*ref.session));
    stamp.item = version;
  }
  auto raw = ref.session->raw();
  if (!raw) {
    return stale_error();
  }
  stamp.raw = std::move(*raw);
  if (view.validity == Validity::epoch) {
    stamp.item = stamp.raw.epoch;
  } else if (view.validity == Validity::family) {
    stamp.item = family_version(state, ref, view, stamp.raw.epoch);
  } else if (view.validity == Validity::raw_generation) {
    stamp.item = stamp.raw.generation;
  }
  if (depth_of(view) != Depth::raw) {
    RETURN_IF_ERROR(guard_of(ref));
  }
  return stamp;
}

Result<SnapshotPtr> just_looked_up(MountState& state, const RequestContext& call, NodeId node) {
  const auto slot = state.slots.at(node.slot());
  return slot ? arborfs::just_looked_up(state, call, node, slot->session) : Result<SnapshotPtr>(stale_error());
}

Result<SnapshotPtr> keep(MountState& state, RequestContext& call, const SessionRef& ref, const ViewRow& view,
                         NodeId node, const Stamp& stamp, View made) {
  auto document = std::make_shared<Snapshot>();
  const bool is_of_item = view.validity == Validity::generation;
  if (is_of_item) {
    ASSIGN_OR_RETURN(document->attr, item_row(node.kind()).attr(state, call, ref, node));
  } else {
    const CacheTtl life = grows(view) ? CacheTtl::moment : CacheTtl::forever;
    document->attr = {node, stable_ino(ref.seed, word_of(node)), FileType::file, life, 0, made.mtime_ns};
    document->attr.writable = control_nodes::is_in(state, *ref.session, view.name);
  }
  document->attr.size = made.content->size();
  document->content = std::move(made.content);
  document->epoch = stamp.raw.epoch;
  document->session = ref.session;
  document->log = stamp.raw.log;
  document->log_stat = stamp.raw.stat;
  document->bytes = stamp.raw.bytes;
  document->is_apart = view.from == MadeFrom::memory;
  document->entries = view.from == MadeFrom::bytes ? 0 : stamp.raw.entries;
  const bool holds = !is_of_item || view.from == MadeFrom::entries;
  return holds ? state.documents.put_recent(std::move(document), grows(view))
               : state.documents.put(std::move(document), grows(view));
}

/// One attempt; empty if the session changed while the document was made, so that another attempt may succeed.
Result<std::optional<SnapshotPtr>> try_document(MountState& state, RequestContext& call, const SessionRef& ref,
                                                const ViewRow& view, NodeId node) {
  using Tried = Result<std::optional<SnapshotPtr>>;
  ASSIGN_OR_RETURN(const auto stamp, stamp_now(state, ref, view));
  if (view.validity != Validity::generation && stamp.item != node.item()) {
    ASSIGN_OR_RETURN(auto known, just_looked_up(state, call, node));
    return Tried(std::move(known));
  }
  if (auto known = state.documents.find(node); known && (!grows(view) || known->epoch == stamp.raw.epoch)) {
    return Tried(std::move(known));
  }
  if (view.from == MadeFrom::entries && !call.may_take_long() && stamp.raw.stat.size > Session::kQuickBytes) {
    return call.defer();
  }
  const std::uint32_t item = view.validity == Validity::generation ? node.item() : 0;
  auto made = make_view(*ref.session, view, item, state.catalog);
  if (!made) {
    return made.error().code == Errc::stale ? Tried(std::nullopt) : Tried(made.error());
  }
  if (grows(view) || view.validity == Validity::family) {
    ASSIGN_OR_RETURN(const auto after, stamp_now(state, ref, view));
    if (after.item != stamp.item) {
      return Tried(std::nullopt);
    }
  }
  ASSIGN_OR_RETURN(auto document, keep(state, call, ref, view, node, stamp, std::move(*made)));
  return Tried(std::move(document));
}

/// The present document of a view whose text is compared. A log that cannot be read has one too.
Result<SnapshotPtr> text_now(MountState& state, RequestContext& call, const SessionRef& ref, const ViewRow& view) {
  if (!call.has_refreshed(ref.session->number(), view.depth)) {
    const auto done = refresh_again(call, ref, view.depth);
    if (!done && (call.is_deferred() || done.error().code == Errc::interrupted)) {
      return done.error();
    }
  }
  ASSIGN_OR_RETURN(const auto made, make_view(*ref.session, view, 0, state.catalog));
  ASSIGN_OR_RETURN(auto text, made.content->read_all());
  text = state.shown(std::move(text));
  const NodeId first(kind_of(view), ref.home, 0);
  const NodeId node(kind_of(view), ref.home, state.versions.version_of(first, xxh64(text)));
  Attr attr{node, stable_ino(ref.seed, word_of(node)), FileType::file, CacheTtl::forever, text.size(), made.mtime_ns};
  attr.writable = control_nodes::is_in(state, *ref.session, view.name);
  return text_document(state, attr, text);
}

Result<SnapshotPtr> document_of_text(MountState& state, RequestContext& call, NodeId node) {
  if (auto known = just_looked_up(state, call, node)) {
    return known;
  }
  ASSIGN_OR_RETURN(const auto ref, session_of(state, node));
  auto now = text_now(state, call, ref, view_of(node.kind()));
  if (now && (*now)->attr.node != node) {
    return stale_error();
  }
  return now;
}

}  // namespace

Depth depth_of(const ViewRow& view) {
  return std::max(Depth::raw, view.depth);
}

Result<SnapshotPtr> document_of_node(MountState& state, RequestContext& call, NodeId node) {
  constexpr int kTries = 4;
  const ViewRow& view = view_of_node(node.kind());
  if (view.validity == Validity::text) {
    return document_of_text(state, call, node);
  }
  ASSIGN_OR_RETURN(const auto ref, resolve_session(state, call, node, depth_of(view)));
  for (int i = 0; i < kTries; ++i) {
    ASSIGN_OR_RETURN(auto document, try_document(state, call, ref, view, node));
    if (document) {
      return std::move(*document);
    }
    RETURN_IF_ERROR(refresh_again(call, ref, depth_of(view)));
  }
  return stale_error();
}

Result<NodeId> present_node(MountState& state, RequestContext& call, const SessionRef& ref, const ViewRow& view) {
  if (view.validity == Validity::text) {
    ASSIGN_OR_RETURN(const auto now, text_now(state, call, ref, view));
    return now->attr.node;
  }
  ASSIGN_OR_RETURN(const auto stamp, stamp_now(state, ref, view));
  return NodeId(kind_of(view), ref.home, stamp.item);
}

OpenFilePtr file_of(SnapshotPtr document) {
  const Kind kind = document->attr.node.kind();
  if (is_view(kind) && grows(view_of(kind))) {
    return std::make_shared<GrowingFile>(std::move(document));
  }
  return std::make_shared<SnapshotFile>(std::move(document));
}

namespace document_nodes {

namespace {

Result<Attr> item_attr(MountState& state, RequestContext& call, NodeId node) {
  const ItemRow& row = item_row(node.kind());
  ASSIGN_OR_RETURN(const auto ref, resolve_session(state, call, node, depth_of(row.view)));
  return row.attr(state, call, ref, node);
}

Result<OpenFilePtr> open(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(auto document, document_of_node(state, call, node));
  if (state.told_otherwise(node, document->content->size())) {
    return stale_error();
  }
  return file_of(std::move(document));
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      document_row<document_of_node>(Kind::damage_tail, "damage-tail"),
      file_row(Kind::entry, "entry", item_attr, open),
      file_row(Kind::text, "text", item_attr, open),
      file_row(Kind::image, "image", item_attr, open),
      file_row(Kind::damage_run, "damage-run", item_attr, open),
      file_row(Kind::branch_context, "branch-context", item_attr, open),
      file_row(Kind::branch_transcript, "branch-transcript", item_attr, open),
      file_row(Kind::branch_page, "branch-page", item_attr, open),
      file_row(Kind::branch_context_page, "branch-context-page", item_attr, open),
      document_row<document_of_node>(Kind::view, "view"),
  };
  return kRows;
}

}  // namespace document_nodes

}  // namespace arborfs
