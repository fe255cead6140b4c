// Everything in the mount, as one table: a row for each kind of node, with its functions for attributes, listing and
// opening. Each nodes_*.cc has the rows of a few kinds; no row knows the kernel's side. Below are also what rows
// return, open files and listings, and what they share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/file.h"
#include "core/views/session_facts.h"
#include "core/views/session_views.h"
#include "fs/nodes/mount_state.h"
#include "fs/nodes/node_id.h"
#include "fs/nodes/request_context.h"

namespace arborfs {

/// An open regular file, which a file handle refers to. It shows one state of one log until it is closed; a growing
/// file also shows appended bytes (CONTRACT.md 2.5, 3.2). Shared by the threads that read the same handle.
class OpenFile {
 public:
  virtual ~OpenFile() = default;
  /// Fills `into`, up to the end of the file; returns the number of bytes. Errors: stale, io, interrupted (deferred).
  virtual Result<std::size_t> read(MountState& state, RequestContext& call, std::uint64_t offset,
                                   std::span<char> into) = 0;
  /// True if the pages that the kernel has cached for this node are still these bytes.
  [[nodiscard]] virtual bool keeps_cache() const { return true; }
};
using OpenFilePtr = std::shared_ptr<OpenFile>;

/// A document made from a log. If a writer has since changed its bytes in place, a read fails with `stale`.
class SnapshotFile : public OpenFile {
 public:
  explicit SnapshotFile(SnapshotPtr document);
  Result<std::size_t> read(MountState& state, RequestContext& call, std::uint64_t offset,
                           std::span<char> into) override;

 protected:
  Result<std::size_t> read_of(const Snapshot& document, RequestContext& call, std::uint64_t offset,
                              std::span<char> into);
  [[nodiscard]] SnapshotPtr current() const;
  void take(SnapshotPtr longer);

 private:
  Result<void> check_log(const Snapshot& document, RequestContext& call);
  mutable std::mutex mutex_;  // leaf
  SnapshotPtr document_;      // guarded by mutex_
  FileStat checked_;          // the log's stat when its bytes were last known to be right; guarded by mutex_
};

/// A document that is extended with appended bytes when it is read past its end.
class GrowingFile final : public SnapshotFile {
 public:
  using SnapshotFile::SnapshotFile;
  Result<std::size_t> read(MountState& state, RequestContext& call, std::uint64_t offset,
                           std::span<char> into) override;
};

/// A file of the store, shown as it is on disk.
class DiskFile final : public OpenFile {
 public:
  DiskFile(std::shared_ptr<const File> file, bool keeps_cache) : file_(std::move(file)), keeps_cache_(keeps_cache) {}
  Result<std::size_t> read(MountState& state, RequestContext& call, std::uint64_t offset,
                           std::span<char> into) override;
  [[nodiscard]] bool keeps_cache() const override { return keeps_cache_; }

 private:
  const std::shared_ptr<const File> file_;
  const bool keeps_cache_;
};

struct DirectoryItem {
  std::string_view name;
  const Attr& attr;
  CacheTtl name_life = CacheTtl::moment;
  bool is_complete = true;  // false: only ino and type are set; the kernel asks when it needs the rest
  std::uint64_t next = 0;   // offset of the next item
};

/// The listing of a folder: one snapshot, held by its directory handle from rewind to rewind, so that no name is missed
/// or repeated while the folder changes. Offsets are positions in the snapshot and never change. Immutable; any thread.
class DirectorySnapshot {
 public:
  /// Returns false to stop.
  using Emit = std::function<bool(const DirectoryItem&)>;

  virtual ~DirectorySnapshot() = default;
  /// Differs when the names, or the state that they show, differ.
  [[nodiscard]] virtual std::uint64_t version() const = 0;
  /// Emits the items from offset `from` on. Leaves out items that have vanished since the snapshot.
  virtual Result<void> walk(MountState& state, RequestContext& call, std::uint64_t from, const Emit& emit) const = 0;
};
using ListingPtr = std::shared_ptr<const DirectorySnapshot>;

/// A list of names, each with its node.
class NamesSnapshot final : public DirectorySnapshot {
 public:
  struct Item {
    std::string name;
    Child child;
    std::optional<Attr> brief;  // only ino and type; set if the other attributes would take work
  };
  /// The version is a hash of the items and of `state_version`.
  NamesSnapshot(std::vector<Item> items, std::uint64_t state_version);
  [[nodiscard]] std::uint64_t version() const override { return version_; }
  Result<void> walk(MountState& state, RequestContext& call, std::uint64_t from, const Emit& emit) const override;

 private:
  std::vector<Item> items_;
  std::uint64_t version_;
};

/// Files that belong to one entry each; names and attributes are read from the index as they are emitted.
class EntriesSnapshot final : public DirectorySnapshot {
 public:
  /// Name and attributes of one kind of such files. No locks, no I/O: called under a session's guard.
  struct Row {
    Kind kind;
    std::string (*name)(const LogIndex& index, Ordinal ordinal);
    Attr (*attr)(const Session::Guard& guard, std::uint64_t seed, NodeId node);
  };
  /// Entries 1 to `count`, or those in `ordinals`, in the state of `guard` or a later one; before them `first`, if
  /// there is one.
  EntriesSnapshot(SessionRef ref, const Session::Guard& guard, const Row& row, Ordinal count);
  EntriesSnapshot(SessionRef ref, const Session::Guard& guard, const Row& row, std::vector<Ordinal> ordinals,
                  std::optional<NamesSnapshot::Item> first = std::nullopt);
  [[nodiscard]] std::uint64_t version() const override { return version_; }
  Result<void> walk(MountState& state, RequestContext& call, std::uint64_t from, const Emit& emit) const override;

 private:
  SessionRef ref_;
  const Row& row_;
  std::optional<NamesSnapshot::Item> first_;
  std::vector<Ordinal> ordinals_;  // empty: all
  std::uint64_t count_;
  std::uint64_t version_;
};

/// A row of the table. The views of a session share one; session_views() distinguishes them. Functions are null where
/// they do not apply to a kind. Errors of all: stale (gone; the kernel then looks the path up again), interrupted
/// (deferred), io and the errors of reading a log.
struct NodeRow {
  Kind kind{};
  std::string_view word;  // part of the inode number, except of views (word_of); must never change
  Result<Attr> (*attr)(MountState&, RequestContext&, NodeId) = nullptr;
  Result<Child> (*lookup)(MountState&, RequestContext&, NodeId, std::string_view name) = nullptr;  // folders; not_found
  Result<ListingPtr> (*list)(MountState&, RequestContext&, NodeId) = nullptr;                      // folders
  Result<OpenFilePtr> (*open)(MountState&, RequestContext&, NodeId) = nullptr;                     // files
  Result<std::string> (*target)(MountState&, RequestContext&, NodeId) = nullptr;                   // symlinks
};

const NodeRow& row_of(Kind kind);
inline std::string_view word_of(NodeId node) {
  return is_view(node.kind()) ? view_of(node.kind()).word : row_of(node.kind()).word;
}
Result<Attr> attr_of(MountState& state, RequestContext& call, NodeId node);

using NodeRows = std::span<const NodeRow>;

constexpr NodeRow folder_row(Kind kind, std::string_view word, decltype(NodeRow::attr) attr,
                             decltype(NodeRow::lookup) lookup, decltype(NodeRow::list) list) {
  return {kind, word, attr, lookup, list, nullptr, nullptr};
}
constexpr NodeRow file_row(Kind kind, std::string_view word, decltype(NodeRow::attr) attr,
                           decltype(NodeRow::open) open) {
  return {kind, word, attr, nullptr, nullptr, open, nullptr};
}
constexpr NodeRow link_row(Kind kind, std::string_view word, decltype(NodeRow::attr) attr,
                           decltype(NodeRow::target) target) {
  return {kind, word, attr, nullptr, nullptr, nullptr, target};
}

namespace search_nodes {
/// The folder above that of a path in by-file/.
NodeId parent_of_path(MountState& state, NodeId node);
}  // namespace search_nodes

namespace stats_nodes {
/// stats.html, which the root has.
Result<Child> page_child(MountState& state, RequestContext& call);
}  // namespace stats_nodes

namespace shortcut_nodes {
/// The attributes of a folder of symlinks in the root.
Result<Attr> attr(MountState&, RequestContext&, NodeId);
/// The folder of an agent in by-agent/.
NodeId agent_folder(std::string_view agent);
/// The node of a symlink to a session. `depth`: of a link in by-file/, how many folders its own one is below the root.
NodeId link_node(MountState&, const CatalogView&, Kind kind, const Session&, std::uint32_t depth = 0);
}  // namespace shortcut_nodes

namespace entry_nodes {
// The functions for attributes are those of an ItemRow (nodes_views.cc), as in branches/ and damage/.
Result<Attr> attr(MountState&, RequestContext&, const SessionRef&, NodeId);
Result<Attr> image_attr(MountState&, RequestContext&, const SessionRef&, NodeId);
}  // namespace entry_nodes
namespace branch_nodes {
Result<Attr> document_attr(MountState&, RequestContext&, const SessionRef&, NodeId);
}
namespace label_nodes {
Result<Attr> run_attr(MountState&, RequestContext&, const SessionRef&, NodeId);
}
namespace project_nodes {
Result<Attr> project_attr(MountState&, RequestContext&, NodeId);
}
namespace session_nodes {
/// The attributes of the folders entries/, text/, images/, branches/, labels/, damage/.
Result<Attr> folder_attr(MountState&, RequestContext&, NodeId);
}  // namespace session_nodes
namespace control_nodes {
/// True if the session has a control file for this verb: never on a read-only mount, else if its format takes the verb.
bool is_in(const MountState& state, const Session& session, std::string_view verb);
}  // namespace control_nodes

/// Catalog::beside_hanging for a request: where it might wait for a submount, it goes on where it may take long.
template <class T>
Result<T> beside_hanging(MountState& state, RequestContext& call, std::function<Result<T>(const Hanging&)> work) {
  if (state.catalog.has_submounts() && !call.may_take_long()) {
    return call.defer();
  }
  return state.catalog.beside_hanging<T>(std::move(work));
}

/// The document of a node: the known one if there is one, else a new one. `stale` if the session no longer shows this
/// node.
Result<SnapshotPtr> document_of_node(MountState& state, RequestContext& call, NodeId node);
/// The view that the node of a document shows.
const ViewRow& view_of_node(Kind kind);
/// A document as an open file.
OpenFilePtr file_of(SnapshotPtr document);
/// The node of a view of the session's present state; `view` is a row of session_views(). Errors: as resolve_session.
/// `ref` must have been refreshed to depth_of(view).
Result<NodeId> present_node(MountState& state, RequestContext& call, const SessionRef& ref, const ViewRow& view);
/// How far the log must be read for a view.
Depth depth_of(const ViewRow& view);

/// For a node whose state is over: its document, if it was looked up just now (kJustLookedUp), or found by this
/// request, which then asks for its attributes; otherwise stale. `session`: of which the document is, 0 if it is of
/// all.
Result<SnapshotPtr> just_looked_up(MountState& state, const RequestContext& call, NodeId node, std::uint32_t session);
/// The row of a file that shows a document, as `kDocument` returns it; its errors are those of NodeRow.
template <Result<SnapshotPtr> (*kDocument)(MountState&, RequestContext&, NodeId)>
constexpr NodeRow document_row(Kind kind, std::string_view word) {
  return file_row(
      kind, word,
      [](MountState& state, RequestContext& call, NodeId node) -> Result<Attr> {
        auto document = kDocument(state, call, node);
        return document ? Result<Attr>((*document)->attr) : Result<Attr>(document.error());
      },
      [](MountState& state, RequestContext& call, NodeId node) -> Result<OpenFilePtr> {
        auto document = kDocument(state, call, node);
        return document ? Result<OpenFilePtr>(file_of(std::move(*document))) : Result<OpenFilePtr>(document.error());
      });
}

/// The document of `attr.node`, whose text fs makes itself: the known one, else a new one with this text.
SnapshotPtr text_document(MountState& state, const Attr& attr, std::string_view text);

}  // namespace arborfs
