// The readable files of a session by kind: one list of kinds, one function that makes the bytes. A new view is one row
// in session_views.cc. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/model/content.h"
#include "core/session/catalog.h"
#include "core/session/session.h"
#include "core/views/session_status.h"

namespace arborfs {

enum class ViewKind : std::uint8_t {
  session_json,
  title,
  raw,
  context,
  transcript,
  tree,
  usage,
  status,  // of the session, at its leaf
  branch_context,
  branch_transcript,  // item: ordinal of the branch's last entry
  entry_json,
  entry_text,  // item: ordinal
  image,       // item: index into TextSizes::images
  damage,      // item: index into LogIndex::damage
};

/// The damage to show for this state: all of the log's, except an unterminated end that is less than 2 s old. None of
/// it is marked as in progress.
std::vector<Damage> shown_damage(const Session::Guard& guard);

/// The depth to which the session must have been refreshed for a kind.
Depth depth_for(ViewKind kind);

struct View {
  std::shared_ptr<const Content> content;
  std::int64_t mtime_ns = 0;  // CONTRACT.md 2.4: the entry's own time, or the log's
};

/// Makes a document from the session's present state (refresh first). Errors: not_found (no such item, no leaf), stale,
/// io, corrupt (a blob with other bytes).
Result<View> make_view(const Session& session, ViewKind kind, std::uint32_t item, const Catalog& catalog);
/// The view's exact size and time. Cheaper than make_view() if the size is known from the index, details or an earlier
/// call.
struct ViewFacts {
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
};
Result<ViewFacts> view_facts(const Session& session, ViewKind kind, std::uint32_t item, const Catalog& catalog);

}  // namespace arborfs
