#include "core/views/make_view.h"

#include <optional>
#include <utility>

#include "core/base/result_macros.h"
#include "core/log/log_age.h"
#include "core/log/log_reader.h"
#include "core/session/view_cache.h"

namespace arborfs {

namespace {

std::optional<ViewCache::Key> cache_key(const ViewRow& row, const Session& session, std::uint32_t item) {
  if (row.from != MadeFrom::entries || row.validity == Validity::text) {
    return std::nullopt;
  }
  const auto guard = session.read();
  if (!guard) {
    return std::nullopt;
  }
  const bool may_move = !session.format().reader->only_grow();  // entries of a generation, to other places in the log
  const std::uint32_t epoch = row.validity != Validity::generation || may_move ? guard->epoch() : 0;
  return ViewCache::Key{guard->generation(), reinterpret_cast<std::uintptr_t>(&row), item, epoch};
}

/// Caches a view only if the session's state did not change while it was made.
void keep(const ViewRow& row, const ViewRequest& request, const ViewCache::Key& key, const ContentPtr& content) {
  if (cache_key(row, request.session, request.item) == key) {
    request.catalog.documents().keep(key, content);
  }
}

std::int64_t mtime_of(const Session& session, const ViewRow& row, std::uint32_t item) {
  const auto guard = session.read();
  if (!guard) {
    return session.head().stat.mtime_ns;
  }
  const Ordinal ordinal = row.entry_of == nullptr ? kNoEntry : row.entry_of(*guard, item);
  if (ordinal != kNoEntry && ordinal <= guard->index().size()) {
    const std::int64_t time = guard->index().entry(ordinal).timestamp_ms;
    if (time != Entry::kNoTime && time > INT64_MIN / kNanosPerMilli && time < INT64_MAX / kNanosPerMilli) {
      return time * kNanosPerMilli;
    }
  }
  return guard->stat().mtime_ns;
}

}  // namespace

Result<View> make_view(const Session& session, const ViewRow& row, std::uint32_t item, const Catalog& catalog) {
  const ViewRequest request{session, item, catalog};
  View view;
  view.mtime_ns = mtime_of(session, row, item);
  const auto key = cache_key(row, session, item);
  if (key && (view.content = catalog.documents().find(*key))) {
    return view;
  }
  ASSIGN_OR_RETURN(view.content, row.make(request));
  if (key) {
    keep(row, request, *key, view.content);
  }
  return view;
}

Result<ViewFacts> view_facts(const Session& session, const ViewRow& row, std::uint32_t item, const Catalog& catalog) {
  const ViewRequest request{session, item, catalog};
  if (const auto size = row.known_size == nullptr ? std::nullopt : row.known_size(request)) {
    return ViewFacts{*size, mtime_of(session, row, item)};
  }
  if (const auto key = cache_key(row, session, item)) {
    if (const auto size = catalog.documents().size_of(*key)) {
      return ViewFacts{*size, mtime_of(session, row, item)};
    }
  }
  ASSIGN_OR_RETURN(auto view, make_view(session, row, item, catalog));
  return ViewFacts{view.content->size(), view.mtime_ns};
}

}  // namespace arborfs
