// A file of the mount is one 64-bit number, its node: kind (8 bits), slot (24), item (32). Each request decodes it;
// there are no node objects, so none can dangle, and FORGET has nothing to do. Below are also its attributes.
//
// The content of a node never changes, or only grows, except for files of the store (blobs, artifacts, native/).
// Another state of a session is another node: see the comment at each kind. Slots are never reused (node_numbers.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/views/session_views.h"

namespace arborfs {

enum class Kind : std::uint8_t {
  root,  // item 1, so that the root is the kernel's node 1
  readme,
  rgignore,
  mount_status,  // item: version of its text
  operations,    // the same
  index_page,    // the same
  events,
  new_control,
  projects,
  by_id,
  by_agent,
  tags,
  recent,
  search,
  by_file,
  stats,
  history,
  terminals,
  blobs,
  project,        // item: Project::number
  project_cwd,    // item: Project::number
  project_alias,  // symlink; item: Project::number, slot: hash of its name
  agent,          // item: hash of its name
  tag,            // item: hash of its name
  by_id_link,     // symlink to a session; as for these six: slot of the session, item: hash of the target
  by_agent_link,
  tag_link,
  recent_link,
  search_link,
  file_link,  // in by-file/
  terminal_link,
  search_query,     // item: number of the query (recent_searches.h)
  file_path,        // the same, of the query for the sessions that touched a file
  search_excerpts,  // slot: number of the query, item: version of its result; as for search_hits
  search_hits,
  stats_file,    // slot: which one (nodes_all_sessions.cc), item: version of the sums
  history_file,  // slot: the day's number (history.h), item: version of its text
  session,       // slot of the session, as for all kinds up to `children`
  damage_tail,   // the unfinished end of the log; item: epoch
  labels,
  control,          // item: verb and number of the inode (control_inodes.h)
  artifact_dir,     // item: interned path, 0 for artifacts/ itself
  artifact_file,    // item: interned path
  checkpoint_dir,   // item: as for artifact_dir
  checkpoint_file,  // item: interned path; its text may be made anew at each open
  native_dir,       // item: as for artifact_dir
  native_file,      // as checkpoint_file
  wait,             // its read returns when the turn in progress has ended
  children,         // the sessions that the session started
  leaf_link,        // this and the following kinds: slot of one generation, that of the entry; item: ordinal
  entries,
  texts,
  images,
  branches,
  damage,
  entry,
  text,
  image,       // item: index into TextSizes::images
  damage_run,  // item: index into the damage of the log
  branch,      // item: ordinal of the branch's last entry, as for the next ones
  branch_context,
  branch_transcript,
  branch_page,
  branch_context_page,
  branch_entries,
  branch_entry_link,  // item: ordinal of the entry, the same in all branches
  branch_append,
  branch_alias,
  current_link,
  label_link,
  blob,  // item: interned name
  // This and the following numbers: a view of a session, one for each row of session_views(). Slot of the
  // session; item: what the row's Validity compares, which is an epoch, a generation or a version.
  view,
};

class NodeId {
 public:
  static constexpr std::uint32_t kMaxSlot = 0xFFFFFF;

  constexpr NodeId() = default;
  constexpr explicit NodeId(std::uint64_t value) : value_(value) {}
  constexpr NodeId(Kind kind, std::uint32_t slot, std::uint32_t item)
      : value_(static_cast<std::uint64_t>(kind) << 56U | static_cast<std::uint64_t>(slot & kMaxSlot) << 32U | item) {}
  static constexpr NodeId root() { return {Kind::root, 0, 1}; }

  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }
  /// False for numbers that arborfs never handed out.
  [[nodiscard]] bool is_known() const;
  [[nodiscard]] constexpr Kind kind() const { return static_cast<Kind>(value_ >> 56U); }
  [[nodiscard]] constexpr std::uint32_t slot() const { return static_cast<std::uint32_t>(value_ >> 32U) & kMaxSlot; }
  [[nodiscard]] constexpr std::uint32_t item() const { return static_cast<std::uint32_t>(value_); }
  constexpr auto operator<=>(const NodeId&) const = default;

 private:
  std::uint64_t value_ = 0;
};
static_assert(NodeId::root().value() == 1);

}  // namespace arborfs

template <>
struct std::hash<arborfs::NodeId> {
  std::size_t operator()(arborfs::NodeId node) const noexcept {
    const std::uint64_t mixed = node.value() * 0x9E3779B97F4A7C15U;
    return static_cast<std::size_t>(mixed ^ (mixed >> 32U));
  }
};

namespace arborfs {

enum class FileType : std::uint8_t { directory, file, symlink };

/// How long the kernel may cache an answer. `moment` is less than a second, so that everything is correct within a
/// second even if no invalidation ever reaches the kernel (CONTRACT.md 3.4). `glance` means no caching: for files that
/// other programs may be writing in place, whose size must be correct at every open.
enum class CacheTtl : std::uint8_t { glance, moment, forever };

/// A file's attributes as the mount reports them, and how long the kernel may cache them.
struct Attr {
  NodeId node;
  std::uint64_t ino = 0;  // st_ino: the same after a remount, unlike the node
  FileType type = FileType::file;
  CacheTtl life = CacheTtl::moment;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  bool writable = false;  // by its owner
};

/// The node that a name leads to.
struct Child {
  NodeId node;
  CacheTtl name_life = CacheTtl::moment;
  std::optional<Attr> attr = std::nullopt;  // if the lookup knows them already
};

/// The result of a lookup.
struct Found {
  Attr attr;
  CacheTtl name_life = CacheTtl::moment;
};

inline Attr directory_attr(NodeId node, std::uint64_t ino, std::int64_t mtime_ns) {
  return {node, ino, FileType::directory, CacheTtl::moment, 0, mtime_ns};
}

inline Attr symlink_attr(NodeId node, std::uint64_t ino, CacheTtl life, const std::string& target,
                         std::int64_t mtime_ns) {
  return {node, ino, FileType::symlink, life, target.size(), mtime_ns};
}

/// The kinds of nodes that are views of a session: Kind::view and the numbers after it, in the order of
/// session_views().
inline constexpr std::size_t kFirstView = static_cast<std::size_t>(Kind::view);

constexpr bool is_view(Kind kind) {
  return kind >= Kind::view;
}

/// The row of a kind for which is_view().
inline const ViewRow& view_of(Kind kind) {
  return session_views()[static_cast<std::size_t>(kind) - kFirstView];
}

/// `view` is a row of session_views().
inline Kind kind_of(const ViewRow& view) {
  return static_cast<Kind>(kFirstView + static_cast<std::size_t>(&view - session_views().data()));
}

}  // namespace arborfs
