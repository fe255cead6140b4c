// A row of the tables of views (session_views.h, item_views.h). A view is a file that the mount computes from a
// session.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "core/model/content.h"
#include "core/session/catalog.h"
#include "core/session/session.h"

namespace arborfs {

/// How long a view's bytes stay valid. After that, the mount leads the name to another node.
enum class Validity : std::uint8_t {
  epoch,           // until the session changes in any way
  raw_generation,  // grows with the log, until earlier bytes of the log differ
  transcript,      // grows with the path to the leaf, until the leaf moves to another branch
  text,            // made anew at each look, and compared; the file exists even if the log cannot be read
  generation,      // until the log is rewritten; for views of one item
};

/// The sources that the function reads.
enum class MadeFrom : std::uint8_t {
  memory,   // what the session holds: later changes of the log cannot affect the view
  bytes,    // bytes of the log, entries or not; the content refers to their place, and a read of it reads them
  entry,    // the same, of one entry or blob
  entries,  // many entries: takes long if the log is long. The result is cached.
};

/// The input of a view. The session has been refreshed to the row's depth, but may have changed since.
struct ViewRequest {
  const Session& session;
  std::uint32_t item;  // as the row defines it; 0 for views of a whole session
  const Catalog& catalog;
};

using ContentPtr = std::shared_ptr<const Content>;
using ContentResult = Result<ContentPtr>;

struct ViewRow {
  std::string_view name;  // in the session's folder; "" for views of one item
  Depth depth;            // to which the session must have been refreshed
  Validity validity;
  MadeFrom from;
  /// Errors: not_found (no such item, no leaf), stale (the session changed), io, corrupt (a blob with other bytes).
  ContentResult (*make)(const ViewRequest&);
  /// Part of the inode number, so it must never change. For older views it differs from the name.
  std::string_view word = name;
  /// The size, if it is known without making the view. Null: never.
  std::optional<std::uint64_t> (*known_size)(const ViewRequest&) = nullptr;
  /// The entry whose time is the view's; kNoEntry for the log's. Null: always the log's.
  Ordinal (*entry_of)(const Session::Guard&, std::uint32_t item) = nullptr;
  /// True for the sessions that have the view. Null: all of them.
  bool (*is_of)(const Session&) = nullptr;
};

inline bool has_view(const Session& session, const ViewRow& row) {
  return row.is_of == nullptr || row.is_of(session);
}

/// True if the view's bytes only grow while it is valid.
constexpr bool grows(const ViewRow& row) {
  return row.validity == Validity::raw_generation || row.validity == Validity::transcript;
}

/// True if a listing of the session's folder omits the size, because it is expensive to compute.
constexpr bool size_takes_work(const ViewRow& row) {
  return row.from == MadeFrom::entries || row.depth == Depth::details;
}

inline ContentPtr literal_content(std::string_view text) {
  auto content = std::make_shared<Content>();
  content->add_text(text);
  return content;
}

}  // namespace arborfs
