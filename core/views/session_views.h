// The files that the mount computes from a session, as rows of two tables: the views of a whole session, which are the
// files of its folder that are not control files, and those of one item. A new view is a row and its function; the
// mount takes name, attributes, opening and invalidation from the row. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/entry/content.h"
#include "core/entry/text_sizes.h"
#include "core/entry/views.h"
#include "core/session/catalog.h"
#include "core/session/session.h"
#include "core/store/blob_store.h"

namespace arborfs {

/// How long a view's bytes stay valid. After that, the mount leads the name to another node.
enum class Validity : std::uint8_t {
  epoch,           // until the session changes in any way
  family,          // until the session or one in its children/, however deep, changes in any way
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
  std::uint32_t item;  // as the row defines it; 0 (kNoEntry) for views of a whole session
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

/// The views of a whole session, in the order in which the folder lists them, except that those whose size takes work
/// come last.
std::span<const ViewRow> session_views();
/// Null for a name that is not a view.
const ViewRow* find_view(std::string_view name);

}  // namespace arborfs

/// The views of one item of a session. The folder that contains them determines their names.
namespace arborfs::item_views {

extern const ViewRow entry_json;           // item: ordinal
extern const ViewRow entry_text;           // item: ordinal
extern const ViewRow image;                // item: index into TextSizes::images
extern const ViewRow damage;               // item: index into shown_damage()
extern const ViewRow damage_tail;          // the last of shown_damage(), which may still grow
extern const ViewRow branch_context;       // item: ordinal of the branch's last entry
extern const ViewRow branch_transcript;    // item: ordinal of the branch's last entry
extern const ViewRow branch_page;          // the same
extern const ViewRow branch_context_page;  // the same

}  // namespace arborfs::item_views

namespace arborfs {

/// A view, made.
struct View {
  std::shared_ptr<const Content> content;
  std::int64_t mtime_ns = 0;  // CONTRACT.md 2.4: the entry's own time, or the log's
};

/// The mtime of an entry's files: its own time, or the log's if it has none that fits (CONTRACT.md 2.4).
std::int64_t entry_time(const Session::Guard& guard, Ordinal ordinal);

/// Makes a view from the session's present state, or finds it in the catalog's cache. Refresh the session to the row's
/// depth first. Errors: those of ViewRow::make.
Result<View> make_view(const Session& session, const ViewRow& row, std::uint32_t item, const Catalog& catalog);

/// The view's exact size and time. Cheaper than make_view() if the size is known from the index, details or an earlier
/// call.
struct ViewFacts {
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
};
Result<ViewFacts> view_facts(const Session& session, const ViewRow& row, std::uint32_t item, const Catalog& catalog);

/// An image in the blob store, read piece by piece. Thread-safe. Errors: corrupt if the blob cannot be opened or does
/// not match its hash; io.
Result<std::shared_ptr<const Content>> blob_image(BlobStore& blobs, const std::string& hash);
/// The size to show for a blob. Never 0 if its bytes are unavailable: where files are not opened before a read, the
/// kernel never reads an empty file, and no reader would see the error.
std::uint64_t shown_blob_size(const BlobStore& blobs, const std::string& hash);

/// tree.txt, or the tree in another look: the tree with the first words of each entry, which takes one read of the log,
/// as it was at the time of the call. Does not block other users of the session: takes its guard only for short steps,
/// and does not draw entries that are appended meanwhile. Needs Depth::index. Above kMaxWorded entries the first words
/// are left out; the tree is complete. Errors: stale, io; interrupted while the mount is being unmounted.
Result<std::shared_ptr<const Content>> tree_document(const Session& session, const TreeLook& look = {});
inline constexpr std::uint32_t kMaxWorded = 100'000;

/// transcript.md: the texts of the path for people (people_path.h) to an entry, kNoEntry for the leaf. `images`: the
/// folder that links to images name; "" for none. Needs Depth::details. Errors: stale.
Result<std::shared_ptr<const Content>> transcript_document(const Session& session, Ordinal end,
                                                           std::string_view images);

}  // namespace arborfs
