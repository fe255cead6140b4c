// Makes a view from a session's present state, or finds it in the catalog's cache. Any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "core/views/view_row.h"

namespace arborfs {

struct View {
  std::shared_ptr<const Content> content;
  std::int64_t mtime_ns = 0;  // CONTRACT.md 2.4: the entry's own time, or the log's
};

/// Refresh the session to the row's depth first. Errors: those of ViewRow::make.
Result<View> make_view(const Session& session, const ViewRow& row, std::uint32_t item, const Catalog& catalog);

/// The view's exact size and time. Cheaper than make_view() if the size is known from the index, details or an earlier
/// call.
struct ViewFacts {
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
};
Result<ViewFacts> view_facts(const Session& session, const ViewRow& row, std::uint32_t item, const Catalog& catalog);

}  // namespace arborfs
