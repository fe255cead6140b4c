#include <algorithm>
#include <array>
#include <optional>

#include "core/base/hash.h"
#include "fs/nodes.h"

namespace arborfs {

namespace {

/// What a node's item says, and so until when the node is what the session shows.
enum class Tie {
  epoch,           // any change of the session makes another node
  raw_generation,  // grows; another node when earlier bytes differ
  lineage,         // grows; another node when the path to the leaf is another
  version,         // another node when the text differs
  generation,      // never changes within its slot
};

struct DocumentRow {
  Kind kind;
  DocumentKind document;
  Tie tie;
  bool takes_long = false;  // to make, when the log is long
  bool is_apart = false;    // made of what the session has in memory
};

constexpr std::array kDocumentRows = {
    DocumentRow{Kind::session_json, DocumentKind::session_json, Tie::epoch, false, true},
    DocumentRow{Kind::title, DocumentKind::title, Tie::epoch, false, true},
    DocumentRow{Kind::context, DocumentKind::context, Tie::epoch, true},
    DocumentRow{Kind::tree, DocumentKind::tree, Tie::epoch, true},
    DocumentRow{Kind::usage, DocumentKind::usage, Tie::epoch, false, true},
    DocumentRow{Kind::session_status, DocumentKind::status, Tie::version, true},
    DocumentRow{Kind::raw, DocumentKind::raw, Tie::raw_generation},
    DocumentRow{Kind::transcript, DocumentKind::transcript, Tie::lineage, true},
    DocumentRow{Kind::damage_tail, DocumentKind::damage, Tie::epoch},
    DocumentRow{Kind::entry, DocumentKind::entry_json, Tie::generation},
    DocumentRow{Kind::text, DocumentKind::entry_text, Tie::generation},
    DocumentRow{Kind::image, DocumentKind::image, Tie::generation},
    DocumentRow{Kind::damage_run, DocumentKind::damage, Tie::generation},
    DocumentRow{Kind::branch_context, DocumentKind::branch_context, Tie::generation, true},
    DocumentRow{Kind::branch_transcript, DocumentKind::branch_transcript, Tie::generation, true},
};

const DocumentRow& document_row(Kind kind) {
  return *std::find_if(kDocumentRows.begin(), kDocumentRows.end() - 1,
                       [&](const DocumentRow& row) { return row.kind == kind; });
}

bool grows(const DocumentRow& row) {
  return row.tie == Tie::raw_generation || row.tie == Tie::lineage;
}

/// One state of a session, as far as nodes tell states apart.
struct Stamp {
  std::uint32_t item = 0;
  Session::Raw raw;
  std::uint32_t last_damage = 0;
};

Result<Stamp> stamp_now(MountState& state, const SessionRef& ref, const DocumentRow& row) {
  Stamp stamp;
  if (row.tie == Tie::lineage) {
    auto lineage = state.lineages.lineage_of(*ref.session);
    if (!lineage) {
      return lineage.error();
    }
    stamp.item = *lineage;
  }
  auto raw = ref.session->raw();
  if (!raw) {
    return stale_error();
  }
  stamp.raw = std::move(*raw);
  if (row.tie == Tie::epoch) {
    stamp.item = stamp.raw.epoch;
  } else if (row.tie == Tie::raw_generation) {
    stamp.item = stamp.raw.generation;
  }
  if (document_depth(row.kind) == Depth::raw) {
    return stamp;
  }
  const auto guard = guard_of(ref);
  if (!guard) {
    return guard.error();
  }
  if (row.kind == Kind::damage_tail) {
    stamp.last_damage = static_cast<std::uint32_t>(std::max<std::size_t>(1, shown_damage(*guard).size()) - 1);
  }
  return stamp;
}

/// What the session shows is another node by now; but an open may follow its lookup closely, and a lookup asks for the
/// attributes of what it has just found.
Result<DocumentPtr> just_looked_up(MountState& state, const Call& call, NodeId node) {
  auto known = state.documents.find(node);
  const auto slot = state.slots.at(node.slot());
  const bool lately = known && slot && std::chrono::steady_clock::now() - known->made < kJustLookedUp &&
                      !state.written_since(slot->session, known->made);
  const bool is_right = known && (lately || known->made >= call.begun());
  return is_right ? Result<DocumentPtr>(std::move(known)) : Result<DocumentPtr>(stale_error());
}

Result<DocumentPtr> keep(MountState& state, Call& call, const SessionRef& ref, const DocumentRow& row, NodeId node,
                         const Stamp& stamp, DocumentOf made) {
  auto document = std::make_shared<Document>();
  if (row.tie == Tie::generation) {
    auto attr = attr_of(state, call, node);
    if (!attr) {
      return attr.error();
    }
    document->attr = *attr;
  } else {
    const Life life = grows(row) ? Life::moment : Life::forever;
    document->attr = {node, stable_ino(ref.seed, word_of(node)), FileType::file, life, 0, made.mtime_ns};
    document->attr.writable = row.kind == Kind::title && !state.read_only;
  }
  document->attr.size = made.content->size();
  document->content = std::move(made.content);
  document->epoch = stamp.raw.epoch;
  document->session = ref.session;
  document->log = stamp.raw.log;
  document->log_stat = stamp.raw.stat;
  document->bytes = stamp.raw.bytes;
  document->is_apart = row.is_apart;
  const bool is_of_entries = row.document != DocumentKind::raw && row.document != DocumentKind::damage;
  document->entries = is_of_entries ? stamp.raw.entries : 0;
  const bool holds = row.tie != Tie::generation || row.takes_long;
  return holds ? state.documents.put_recent(std::move(document), grows(row))
               : state.documents.put(std::move(document), grows(row));
}

std::uint32_t core_item(const DocumentRow& row, NodeId node, const Stamp& stamp) {
  if (row.kind == Kind::damage_tail) {
    return stamp.last_damage;
  }
  return row.tie == Tie::generation ? node.item() : 0;
}

/// One try; nothing when the session moved while the document was made and another try may fare better.
Result<std::optional<DocumentPtr>> try_document(MountState& state, Call& call, const SessionRef& ref,
                                                const DocumentRow& row, NodeId node) {
  using Tried = Result<std::optional<DocumentPtr>>;
  const auto wrap = [](Result<DocumentPtr> done) {
    return done ? Tried(std::optional(std::move(*done))) : Tried(done.error());
  };
  const auto stamp = stamp_now(state, ref, row);
  if (!stamp) {
    return stamp.error();
  }
  if (row.tie != Tie::generation && stamp->item != node.item()) {
    return wrap(just_looked_up(state, call, node));
  }
  if (auto known = state.documents.find(node); known && (!grows(row) || known->epoch == stamp->raw.epoch)) {
    return wrap(std::move(known));
  }
  if (row.takes_long && !call.may_take_long() && stamp->raw.stat.size > Session::kQuickBytes) {
    return call.defer();
  }
  auto made = make_document(*ref.session, row.document, core_item(row, node, *stamp), state.catalog);
  if (!made) {
    return made.error().code == Errc::stale ? Tried(std::nullopt) : Tried(made.error());
  }
  if (grows(row)) {
    const auto after = stamp_now(state, ref, row);
    if (!after) {
      return after.error();
    }
    if (after->item != stamp->item) {
      return Tried(std::nullopt);
    }
  }
  return wrap(keep(state, call, ref, row, node, *stamp, std::move(*made)));
}

/// status.json as it is now. A log that cannot be read has one too: it says so.
Result<DocumentPtr> status_now(MountState& state, Call& call, const SessionRef& ref) {
  const Depth depth = depth_for(DocumentKind::status);
  if (!call.has_refreshed(ref.session->number(), depth)) {
    const auto done = refresh_again(call, ref, depth);
    if (!done && (call.is_deferred() || done.error().code == Errc::interrupted)) {
      return done.error();
    }
  }
  auto made = make_document(*ref.session, DocumentKind::status, 0, state.catalog);
  auto text = made ? made->content->read_all() : Result<std::string>(made.error());
  if (!text) {
    return text.error();
  }
  const std::uint32_t version = state.versions.version_of(ref.session->number(), xxh64(*text));
  const NodeId node(Kind::session_status, ref.home, version);
  Attr attr{node, stable_ino(ref.seed, word_of(node)), FileType::file, Life::forever, text->size(), made->mtime_ns};
  return state.documents.put_recent(literal_document(attr, *text), false);
}

Result<DocumentPtr> status_document(MountState& state, Call& call, NodeId node) {
  if (auto known = just_looked_up(state, call, node)) {
    return known;
  }
  const auto ref = session_of(state, node);
  if (!ref) {
    return ref.error();
  }
  auto now = status_now(state, call, *ref);
  if (now && (*now)->attr.node != node) {
    return stale_error();
  }
  return now;
}

}  // namespace

Depth document_depth(Kind kind) {
  return std::max(Depth::raw, depth_for(document_row(kind).document));
}

Result<DocumentPtr> document_of_node(MountState& state, Call& call, NodeId node) {
  constexpr int kTries = 4;
  const DocumentRow& row = document_row(node.kind());
  if (row.tie == Tie::version) {
    return status_document(state, call, node);
  }
  const auto ref = session_at(state, call, node, document_depth(node.kind()));
  if (!ref) {
    return ref.error();
  }
  for (int i = 0; i < kTries; ++i) {
    auto document = try_document(state, call, *ref, row, node);
    if (!document) {
      return document.error();
    }
    if (*document) {
      return std::move(**document);
    }
    if (auto done = refresh_again(call, *ref, document_depth(node.kind())); !done) {
      return done.error();
    }
  }
  return stale_error();
}

Result<NodeId> present_node(MountState& state, Call& call, const SessionRef& ref, Kind kind) {
  const DocumentRow& row = document_row(kind);
  if (row.tie == Tie::version) {
    const auto now = status_now(state, call, ref);
    return now ? Result<NodeId>((*now)->attr.node) : Result<NodeId>(now.error());
  }
  const auto stamp = stamp_now(state, ref, row);
  return stamp ? Result<NodeId>(NodeId(kind, ref.home, stamp->item)) : Result<NodeId>(stamp.error());
}

OpenFilePtr file_of(DocumentPtr document) {
  if (grows(document_row(document->attr.node.kind()))) {
    return std::make_shared<GrowingFile>(std::move(document));
  }
  return std::make_shared<DocumentFile>(std::move(document));
}

namespace document_nodes {

Result<Attr> attr(MountState& state, Call& call, NodeId node) {
  const auto document = document_of_node(state, call, node);
  return document ? Result<Attr>((*document)->attr) : Result<Attr>(document.error());
}

Result<OpenFilePtr> open(MountState& state, Call& call, NodeId node) {
  auto document = document_of_node(state, call, node);
  if (!document) {
    return document.error();
  }
  if (state.told_otherwise(node, (*document)->content->size())) {
    return stale_error();
  }
  return file_of(std::move(*document));
}

}  // namespace document_nodes

}  // namespace arborfs
