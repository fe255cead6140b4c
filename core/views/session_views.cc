#include "core/views/session_views.h"

#include <array>
#include <utility>

#include "core/base/result_macros.h"
#include "core/log/log_reader.h"
#include "core/model/context_path.h"
#include "core/model/tree.h"
#include "core/render/text.h"
#include "core/session/awaited_blobs.h"
#include "core/session/log_age.h"
#include "core/session/view_cache.h"
#include "core/views/image_content.h"
#include "core/views/session_status.h"
#include "core/views/tree_view.h"

namespace arborfs {

namespace {

using ContentPtr = std::shared_ptr<const Content>;
using ContentResult = Result<ContentPtr>;

constexpr std::size_t kWholeTitle = 100'000;

ContentPtr literal(std::string_view text) {
  auto content = std::make_shared<Content>();
  content->add_text(text);
  return content;
}

struct Request {
  const Session& session;
  std::uint32_t item;
  const Catalog& catalog;
};

ContentResult make_session_json(const Request& request) {
  const Session& session = request.session;
  const SessionOrigin origin{session.agent(), session.format_name(), session.format().is_plain};
  return literal(session_json(session.head().header, origin));
}

ContentResult make_title(const Request& request) {
  const std::string title = request.session.head().header.title;
  return literal(title.empty() ? "" : visible_line(title, kWholeTitle) + "\n");
}

/// The bytes as they are on disk, except that the title slot, which is overwritten in place, is as it was in this
/// state.
ContentResult make_raw(const Request& request) {
  const auto raw = request.session.raw();
  if (!raw) {
    return session_changed();
  }
  auto content = std::make_shared<Content>();
  if (raw->log->is_decoded()) {
    std::string bytes(raw->stat.size, '\0');
    ASSIGN_OR_RETURN(auto got, raw->log->read_raw_at(0, bytes));
    content->add_text(std::string_view(bytes).substr(0, got));
    return ContentPtr(content);
  }
  const std::uint64_t slot = raw->slot_bytes.size();
  content->add_text(raw->slot_bytes);
  if (raw->stat.size > slot) {
    content->add_range(raw->log, slot, raw->stat.size - slot);
  }
  return ContentPtr(content);
}

ContentResult context_at(const Request& request, Ordinal ordinal) {
  ContextPath path;
  std::shared_ptr<const LogSource> log;
  {
    ASSIGN_OR_RETURN(const auto guard, request.session.read_index());
    path = context_path(guard.index(), ordinal == kNoEntry ? guard.leaf() : ordinal);
    log = guard.log();
  }
  auto blobs = std::make_shared<const NotedBlobs>(request.session.store().blobs(),
                                                  request.catalog.state_of(request.session).awaited_blobs,
                                                  request.session.number());
  return request.session.format().renderer->context(path, std::move(log), std::move(blobs));
}

ContentResult make_context(const Request& request) {
  return context_at(request, kNoEntry);
}
ContentResult make_branch_context(const Request& request) {
  return context_at(request, request.item);
}

ContentResult transcript_at(const Request& request, Ordinal ordinal) {
  std::vector<TranscriptStep> steps;
  std::shared_ptr<const LogSource> log;
  {
    const auto guard = request.session.read();
    if (!guard || !guard->has_details()) {
      return session_changed();
    }
    const RecordRenderer& renderer = *request.session.format().renderer;
    auto path = path_to(guard->index(), ordinal == kNoEntry ? guard->leaf() : ordinal);
    std::erase_if(path, [&](Ordinal step) { return !renderer.is_in_transcript(guard->index().name(step)); });
    std::vector<std::uint32_t> sizes;
    sizes.reserve(path.size());
    for (const Ordinal step : path) {
      sizes.push_back(static_cast<std::uint32_t>(guard->details().text_size(step)));
    }
    steps = transcript_steps(guard->index(), path, sizes);
    log = guard->log();
  }
  return build_transcript(std::move(steps), std::move(log), *request.session.format().renderer);
}

ContentResult make_transcript(const Request& request) {
  return transcript_at(request, kNoEntry);
}
ContentResult make_branch_transcript(const Request& request) {
  return transcript_at(request, request.item);
}

ContentResult make_tree(const Request& request) {
  return tree_document(request.session);
}

ContentResult make_usage(const Request& request) {
  const auto guard = request.session.read();
  if (!guard || !guard->has_details()) {
    return session_changed();
  }
  return literal(request.session.format().renderer->usage_json(guard->details().usage(), guard->index().dialect()) +
                 "\n");
}

ContentResult make_status(const Request& request) {
  return literal(session_status_json(session_status(request.session, request.catalog)));
}

/// The size, if it is known without making the document.
std::optional<std::uint64_t> known_size(const Request& request, ViewKind kind) {
  if (kind == ViewKind::raw) {
    const auto raw = request.session.raw();
    return raw && !raw->log->is_decoded() ? std::optional(raw->stat.size) : std::nullopt;
  }
  const auto guard = request.session.read();
  if (!guard) {
    return std::nullopt;
  }
  const auto& index = guard->index();
  const bool is_entry = request.item != kNoEntry && request.item <= index.size();
  switch (kind) {
    case ViewKind::entry_json:
      return is_entry ? std::optional(index.length(request.item) + 1) : std::nullopt;
    case ViewKind::entry_text:
      return is_entry && guard->has_details() ? std::optional(guard->details().text_size(request.item)) : std::nullopt;
    case ViewKind::image: {
      if (!guard->has_details() || request.item >= guard->details().images().size()) {
        return std::nullopt;
      }
      const ImageRef& image = guard->details().images()[request.item];
      if (image.blob.empty()) {
        return image.size;
      }
      return shown_blob_size(*request.session.store().blobs(), image.blob);
    }
    default:
      return std::nullopt;
  }
}

/// The bytes of one entry's JSON value; `item` is its ordinal.
struct EntryBytes {
  std::shared_ptr<const LogSource> log;
  Entry entry;
  std::uint64_t length = 0;
};

Result<EntryBytes> entry_bytes(const Request& request) {
  ASSIGN_OR_RETURN(const auto guard, request.session.read_index());
  if (request.item == kNoEntry || request.item > guard.index().size()) {
    return Error{Errc::not_found, "no such entry"};
  }
  return EntryBytes{guard.log(), guard.index().entry(request.item), guard.index().length(request.item)};
}

ContentResult make_entry_json(const Request& request) {
  ASSIGN_OR_RETURN(auto where, entry_bytes(request));
  auto content = std::make_shared<Content>();
  content->add_range(where.log, where.entry.offset, where.length);
  content->add_text("\n");
  return ContentPtr(content);
}

/// Renders on read if the size is known: most opens are of texts whose bytes the kernel still caches.
ContentResult make_entry_text(const Request& request) {
  ASSIGN_OR_RETURN(auto where, entry_bytes(request));
  auto render = [renderer = request.session.format().renderer, log = where.log, type = where.entry.type,
                 offset = where.entry.offset,
                 length = where.length] { return read_text(*renderer, *log, type, offset, length); };
  if (const auto size = known_size(request, ViewKind::entry_text)) {
    auto content = std::make_shared<Content>();
    content->add_rendered(*size, std::move(render));
    return ContentPtr(content);
  }
  auto text = render();
  return text ? ContentResult(literal(*text)) : text.error();
}

Result<std::pair<EntryBytes, ImageRef>> image_at(const Request& request) {
  const auto guard = request.session.read();
  if (!guard || !guard->has_details()) {
    return session_changed();
  }
  if (request.item >= guard->details().images().size()) {
    return Error{Errc::not_found, "no such image"};
  }
  const ImageRef& image = guard->details().images()[request.item];
  const auto& index = guard->index();
  return std::pair{EntryBytes{guard->log(), index.entry(image.ordinal), index.length(image.ordinal)}, image};
}

ContentResult make_image(const Request& request) {
  ASSIGN_OR_RETURN(auto found, image_at(request));
  const auto& [where, image] = found;
  return image.blob.empty() ? ContentResult(inline_image(where.log, where.entry, image))
                            : blob_image(*request.session.store().blobs(), image.blob);
}

ContentResult make_damage(const Request& request) {
  ASSIGN_OR_RETURN(const auto guard, request.session.read_index());
  const auto damage = shown_damage(guard);
  if (request.item >= damage.size()) {
    return Error{Errc::not_found, "no such damage"};
  }
  auto content = std::make_shared<Content>();
  content->add_range(guard.log(), damage[request.item].offset, damage[request.item].length);
  return ContentPtr(content);
}

/// The lifetime of a cached document.
enum class Validity { never_kept, epoch, generation };

struct Row {
  ViewKind kind;
  Depth depth;
  Validity lasts;
  ContentResult (*make)(const Request&);
};

constexpr std::array kRows = {
    Row{ViewKind::session_json, Depth::head, Validity::never_kept, make_session_json},
    Row{ViewKind::title, Depth::head, Validity::never_kept, make_title},
    Row{ViewKind::raw, Depth::raw, Validity::never_kept, make_raw},
    Row{ViewKind::context, Depth::index, Validity::epoch, make_context},
    Row{ViewKind::transcript, Depth::details, Validity::epoch, make_transcript},
    Row{ViewKind::tree, Depth::index, Validity::epoch, make_tree},
    Row{ViewKind::usage, Depth::details, Validity::never_kept, make_usage},
    Row{ViewKind::status, Depth::details, Validity::never_kept, make_status},
    Row{ViewKind::branch_context, Depth::index, Validity::generation, make_branch_context},
    Row{ViewKind::branch_transcript, Depth::details, Validity::generation, make_branch_transcript},
    Row{ViewKind::entry_json, Depth::index, Validity::never_kept, make_entry_json},
    Row{ViewKind::entry_text, Depth::details, Validity::never_kept, make_entry_text},
    Row{ViewKind::image, Depth::details, Validity::never_kept, make_image},
    Row{ViewKind::damage, Depth::index, Validity::never_kept, make_damage},
};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].kind) != i) {
      return false;
    }
  }
  return true;
}
static_assert(rows_are_in_order());

const Row& row_of(ViewKind kind) {
  return kRows[static_cast<std::size_t>(kind)];
}

std::optional<ViewCache::Key> cache_key(const Row& row, const Session& session, std::uint32_t item) {
  if (row.lasts == Validity::never_kept) {
    return std::nullopt;
  }
  const auto guard = session.read();
  if (!guard) {
    return std::nullopt;
  }
  const bool may_move = !session.format().reader->only_grow();  // entries of a generation, to other places in the log
  const std::uint32_t epoch = row.lasts == Validity::epoch || may_move ? guard->epoch() : 0;
  return ViewCache::Key{guard->generation(), static_cast<std::uint8_t>(row.kind), item, epoch};
}

/// Caches a document only if the session's state did not change while it was made.
void keep(const Row& row, const Request& request, const ViewCache::Key& key, const ContentPtr& content) {
  if (cache_key(row, request.session, request.item) == key) {
    request.catalog.documents().keep(key, content);
  }
}

std::int64_t mtime_of(const Session& session, ViewKind kind, std::uint32_t item) {
  Ordinal ordinal = kNoEntry;
  const auto guard = session.read();
  if (!guard) {
    return session.head().stat.mtime_ns;
  }
  if (kind == ViewKind::entry_json || kind == ViewKind::entry_text) {
    ordinal = item;
  } else if (kind == ViewKind::image && guard->has_details() && item < guard->details().images().size()) {
    ordinal = guard->details().images()[item].ordinal;
  }
  if (ordinal != kNoEntry && ordinal <= guard->index().size()) {
    const std::int64_t time = guard->index().entry(ordinal).timestamp_ms;
    if (time != Entry::kNoTime && time > INT64_MIN / kNanosPerMilli && time < INT64_MAX / kNanosPerMilli) {
      return time * kNanosPerMilli;
    }
  }
  return guard->stat().mtime_ns;
}

}  // namespace

std::vector<Damage> shown_damage(const Session::Guard& guard) {
  auto damage = guard.index().damage();
  if (damage.empty() || !damage.back().in_progress) {
    return damage;
  }
  if (guard.tail_aged()) {
    damage.back().in_progress = false;
  } else {
    damage.pop_back();
  }
  return damage;
}

Depth depth_for(ViewKind kind) {
  return row_of(kind).depth;
}

Result<View> make_view(const Session& session, ViewKind kind, std::uint32_t item, const Catalog& catalog) {
  const Row& row = row_of(kind);
  const Request request{session, item, catalog};
  View document;
  document.mtime_ns = mtime_of(session, kind, item);
  const auto key = cache_key(row, session, item);
  if (key && (document.content = catalog.documents().find(*key))) {
    return document;
  }
  auto content = row.make(request);
  if (!content) {
    return content.error();
  }
  document.content = std::move(content).value();
  if (key) {
    keep(row, request, *key, document.content);
  }
  return document;
}

Result<ViewFacts> view_facts(const Session& session, ViewKind kind, std::uint32_t item, const Catalog& catalog) {
  const Request request{session, item, catalog};
  if (const auto size = known_size(request, kind)) {
    return ViewFacts{*size, mtime_of(session, kind, item)};
  }
  if (const auto key = cache_key(row_of(kind), session, item)) {
    if (const auto size = catalog.documents().size_of(*key)) {
      return ViewFacts{*size, mtime_of(session, kind, item)};
    }
  }
  ASSIGN_OR_RETURN(auto document, make_view(session, kind, item, catalog));
  return ViewFacts{document.content->size(), document.mtime_ns};
}

}  // namespace arborfs
