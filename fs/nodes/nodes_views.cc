#include <algorithm>
#include <array>
#include <optional>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "fs/nodes/nodes.h"

namespace arborfs {

namespace {

/// The meaning of a node's item, and so how long the session shows this node.
enum class Validity {
  epoch,               // any change of the session makes another node
  raw_generation,      // grows; another node when earlier bytes differ
  transcript_version,  // grows; another node when the path to the leaf is another
  version,             // another node when the text differs
  generation,          // never changes within its slot
};

struct ViewRow {
  Kind kind;
  ViewKind document;
  Validity tie;
  bool takes_long = false;  // to make, if the log is long
  bool is_apart = false;    // made only from what the session has in memory
};

constexpr std::array kDocumentRows = {
    ViewRow{Kind::session_json, ViewKind::session_json, Validity::epoch, false, true},
    ViewRow{Kind::title, ViewKind::title, Validity::epoch, false, true},
    ViewRow{Kind::context, ViewKind::context, Validity::epoch, true},
    ViewRow{Kind::tree, ViewKind::tree, Validity::epoch, true},
    ViewRow{Kind::usage, ViewKind::usage, Validity::epoch, false, true},
    ViewRow{Kind::session_status, ViewKind::status, Validity::version, true},
    ViewRow{Kind::raw, ViewKind::raw, Validity::raw_generation},
    ViewRow{Kind::transcript, ViewKind::transcript, Validity::transcript_version, true},
    ViewRow{Kind::damage_tail, ViewKind::damage, Validity::epoch},
    ViewRow{Kind::entry, ViewKind::entry_json, Validity::generation},
    ViewRow{Kind::text, ViewKind::entry_text, Validity::generation},
    ViewRow{Kind::image, ViewKind::image, Validity::generation},
    ViewRow{Kind::damage_run, ViewKind::damage, Validity::generation},
    ViewRow{Kind::branch_context, ViewKind::branch_context, Validity::generation, true},
    ViewRow{Kind::branch_transcript, ViewKind::branch_transcript, Validity::generation, true},
};

const ViewRow& document_row(Kind kind) {
  return *std::find_if(kDocumentRows.begin(), kDocumentRows.end() - 1,
                       [&](const ViewRow& row) { return row.kind == kind; });
}

bool grows(const ViewRow& row) {
  return row.tie == Validity::raw_generation || row.tie == Validity::transcript_version;
}

/// One state of a session, as far as nodes tell states apart.
struct Stamp {
  std::uint32_t item = 0;
  Session::Raw raw;
  std::uint32_t last_damage = 0;
};

Result<Stamp> stamp_now(MountState& state, const SessionRef& ref, const ViewRow& row) {
  Stamp stamp;
  if (row.tie == Validity::transcript_version) {
    ASSIGN_OR_RETURN(auto version, state.transcript_versions.version_of(*ref.session));
    stamp.item = version;
  }
  auto raw = ref.session->raw();
  if (!raw) {
    return stale_error();
  }
  stamp.raw = std::move(*raw);
  if (row.tie == Validity::epoch) {
    stamp.item = stamp.raw.epoch;
  } else if (row.tie == Validity::raw_generation) {
    stamp.item = stamp.raw.generation;
  }
  if (document_depth(row.kind) == Depth::raw) {
    return stamp;
  }
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  if (row.kind == Kind::damage_tail) {
    stamp.last_damage = static_cast<std::uint32_t>(std::max<std::size_t>(1, shown_damage(guard).size()) - 1);
  }
  return stamp;
}

/// For a node that the session no longer shows: its document, if it was looked up just now or found by this request,
/// which then asks for its attributes; otherwise stale.
Result<SnapshotPtr> just_looked_up(MountState& state, const RequestContext& call, NodeId node) {
  auto known = state.documents.find(node);
  const auto slot = state.slots.at(node.slot());
  const bool lately = known && slot && std::chrono::steady_clock::now() - known->made < kJustLookedUp &&
                      !state.written_since(slot->session, known->made);
  const bool is_right = known && (lately || known->made >= call.begun());
  return is_right ? Result<SnapshotPtr>(std::move(known)) : Result<SnapshotPtr>(stale_error());
}

Result<SnapshotPtr> keep(MountState& state, RequestContext& call, const SessionRef& ref, const ViewRow& row,
                         NodeId node, const Stamp& stamp, View made) {
  auto document = std::make_shared<Snapshot>();
  if (row.tie == Validity::generation) {
    ASSIGN_OR_RETURN(document->attr, attr_of(state, call, node));
  } else {
    const CacheTtl life = grows(row) ? CacheTtl::moment : CacheTtl::forever;
    document->attr = {node, stable_ino(ref.seed, word_of(node)), FileType::file, life, 0, made.mtime_ns};
    document->attr.writable = row.kind == Kind::title && control_nodes::is_in(state, *ref.session, "title");
  }
  document->attr.size = made.content->size();
  document->content = std::move(made.content);
  document->epoch = stamp.raw.epoch;
  document->session = ref.session;
  document->log = stamp.raw.log;
  document->log_stat = stamp.raw.stat;
  document->bytes = stamp.raw.bytes;
  document->is_apart = row.is_apart;
  const bool is_of_entries = row.document != ViewKind::raw && row.document != ViewKind::damage;
  document->entries = is_of_entries ? stamp.raw.entries : 0;
  const bool holds = row.tie != Validity::generation || row.takes_long;
  return holds ? state.documents.put_recent(std::move(document), grows(row))
               : state.documents.put(std::move(document), grows(row));
}

std::uint32_t core_item(const ViewRow& row, NodeId node, const Stamp& stamp) {
  if (row.kind == Kind::damage_tail) {
    return stamp.last_damage;
  }
  return row.tie == Validity::generation ? node.item() : 0;
}

/// One attempt; empty if the session changed while the document was made, so that another attempt may succeed.
Result<std::optional<SnapshotPtr>> try_document(MountState& state, RequestContext& call, const SessionRef& ref,
                                                const ViewRow& row, NodeId node) {
  using Tried = Result<std::optional<SnapshotPtr>>;
  ASSIGN_OR_RETURN(const auto stamp, stamp_now(state, ref, row));
  if (row.tie != Validity::generation && stamp.item != node.item()) {
    ASSIGN_OR_RETURN(auto known, just_looked_up(state, call, node));
    return Tried(std::move(known));
  }
  if (auto known = state.documents.find(node); known && (!grows(row) || known->epoch == stamp.raw.epoch)) {
    return Tried(std::move(known));
  }
  if (row.takes_long && !call.may_take_long() && stamp.raw.stat.size > Session::kQuickBytes) {
    return call.defer();
  }
  auto made = make_view(*ref.session, row.document, core_item(row, node, stamp), state.catalog);
  if (!made) {
    return made.error().code == Errc::stale ? Tried(std::nullopt) : Tried(made.error());
  }
  if (grows(row)) {
    ASSIGN_OR_RETURN(const auto after, stamp_now(state, ref, row));
    if (after.item != stamp.item) {
      return Tried(std::nullopt);
    }
  }
  ASSIGN_OR_RETURN(auto document, keep(state, call, ref, row, node, stamp, std::move(*made)));
  return Tried(std::move(document));
}

/// The present status.json. A log that cannot be read has one too, which says so.
Result<SnapshotPtr> status_now(MountState& state, RequestContext& call, const SessionRef& ref) {
  const Depth depth = depth_for(ViewKind::status);
  if (!call.has_refreshed(ref.session->number(), depth)) {
    const auto done = refresh_again(call, ref, depth);
    if (!done && (call.is_deferred() || done.error().code == Errc::interrupted)) {
      return done.error();
    }
  }
  ASSIGN_OR_RETURN(const auto made, make_view(*ref.session, ViewKind::status, 0, state.catalog));
  ASSIGN_OR_RETURN(const auto text, made.content->read_all());
  const std::uint32_t version = state.versions.version_of(ref.session->number(), xxh64(text));
  const NodeId node(Kind::session_status, ref.home, version);
  Attr attr{node, stable_ino(ref.seed, word_of(node)), FileType::file, CacheTtl::forever, text.size(), made.mtime_ns};
  return state.documents.put_recent(literal_document(attr, text), false);
}

Result<SnapshotPtr> status_document(MountState& state, RequestContext& call, NodeId node) {
  if (auto known = just_looked_up(state, call, node)) {
    return known;
  }
  ASSIGN_OR_RETURN(const auto ref, session_of(state, node));
  auto now = status_now(state, call, ref);
  if (now && (*now)->attr.node != node) {
    return stale_error();
  }
  return now;
}

}  // namespace

Depth document_depth(Kind kind) {
  return std::max(Depth::raw, depth_for(document_row(kind).document));
}

Result<SnapshotPtr> document_of_node(MountState& state, RequestContext& call, NodeId node) {
  constexpr int kTries = 4;
  const ViewRow& row = document_row(node.kind());
  if (row.tie == Validity::version) {
    return status_document(state, call, node);
  }
  ASSIGN_OR_RETURN(const auto ref, resolve_session(state, call, node, document_depth(node.kind())));
  for (int i = 0; i < kTries; ++i) {
    ASSIGN_OR_RETURN(auto document, try_document(state, call, ref, row, node));
    if (document) {
      return std::move(*document);
    }
    RETURN_IF_ERROR(refresh_again(call, ref, document_depth(node.kind())));
  }
  return stale_error();
}

Result<NodeId> present_node(MountState& state, RequestContext& call, const SessionRef& ref, Kind kind) {
  const ViewRow& row = document_row(kind);
  if (row.tie == Validity::version) {
    ASSIGN_OR_RETURN(const auto now, status_now(state, call, ref));
    return now->attr.node;
  }
  ASSIGN_OR_RETURN(const auto stamp, stamp_now(state, ref, row));
  return NodeId(kind, ref.home, stamp.item);
}

OpenFilePtr file_of(SnapshotPtr document) {
  if (grows(document_row(document->attr.node.kind()))) {
    return std::make_shared<GrowingFile>(std::move(document));
  }
  return std::make_shared<SnapshotFile>(std::move(document));
}

namespace document_nodes {

Result<Attr> attr(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto document, document_of_node(state, call, node));
  return document->attr;
}

Result<OpenFilePtr> open(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(auto document, document_of_node(state, call, node));
  if (state.told_otherwise(node, document->content->size())) {
    return stale_error();
  }
  return file_of(std::move(document));
}

}  // namespace document_nodes

}  // namespace arborfs
