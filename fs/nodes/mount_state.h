// What all operations of one mount share: the catalog it shows, the numbers it has handed out, the documents it has
// made, and what the kernel may have cached of them. Everything is thread-safe by itself and outlives every request.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/log/redacted_log.h"
#include "core/search/recent_searches.h"
#include "core/session/catalog.h"
#include "core/views/history.h"
#include "core/views/stats.h"
#include "fs/nodes/control_inodes.h"
#include "fs/nodes/documents.h"
#include "fs/nodes/node_id.h"
#include "fs/nodes/node_numbers.h"

namespace arborfs {

/// An item to invalidate: a node's attributes (name empty), or a name in it.
struct Invalidation {
  NodeId node;
  std::string name;
  auto operator<=>(const Invalidation&) const = default;
};

/// Which answers of limited lifetime (CacheTtl::moment) the kernel may still have cached: attributes of nodes, and
/// which node a name leads to. A change invalidates these and nothing else: the kernel's other answers have expired, so
/// it asks again by itself.
///
/// Attributes are noted before they are read, so that a change after the read is invalidated; the kernel then discards
/// an answer that is still on its way. mutex_ is a leaf. Holds the answers of the last one to two seconds.
class CacheTracker {
 public:
  using Clock = std::chrono::steady_clock;

  /// Call it before a node's attributes are read and answered. Ignores kinds that are never invalidated.
  void note(NodeId node);
  /// Call it when the node of a name was answered.
  void note_name(NodeId folder, std::string_view name);
  [[nodiscard]] bool may_know(const Invalidation& what) const;
  /// The names in a folder that start with `beginning` and that the kernel may have cached.
  [[nodiscard]] std::vector<Invalidation> names_in(NodeId folder, std::string_view beginning = "") const;

 private:
  /// Longer than CacheTtl::moment, so that an answer is tracked at least as long as the kernel caches it.
  static constexpr std::chrono::seconds kPeriod{1};
  void add(Invalidation what);
  mutable std::mutex mutex_;
  Clock::time_point turned_ = Clock::now();  // guarded by mutex_, as are all below
  std::set<Invalidation> young_;
  std::set<Invalidation> old_;  // noted in the period before
};

struct MountState {
  MountState(Catalog& shown, bool is_read_only)
      : catalog(shown),
        read_only(is_read_only),
        mounted_ns(
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
                .count()) {}

  Catalog& catalog;
  const bool read_only;
  const std::int64_t mounted_ns;
  /// How changes are noticed, for status.json. Set before the first request.
  std::function<std::string()> watching = [] { return std::string("nothing"); };

  SessionIds slots;
  InodeSeeds seeds;
  InternTable artifact_paths;
  InternTable blob_names;
  Documents documents;
  TranscriptVersions transcript_versions;
  TextVersions versions;
  CacheTracker kernel;
  ControlInodes control_inodes;
  search::RecentSearches searches;
  search::RecentSearches file_searches;  // those of by-file/, however many they are: they forget none of `searches`
  stats::RecentStats stats;
  LastDocument index_page;
  history::RecentHistory history;

  /// A text that is not made of logs alone, as the mount shows it.
  [[nodiscard]] std::string shown(std::string text) const {
    const LogRedaction* const redaction = catalog.stores().redaction();
    return redaction == nullptr ? std::move(text) : redaction->text(text);
  }

  /// Whether a session was refreshed so recently that its log need not be checked again. This can miss only writes of
  /// other processes, and for kLately at most; own writes are in the session's state at once.
  [[nodiscard]] static bool refreshed_lately(const Session& session, Depth depth) {
    return session.is_known_since(std::chrono::steady_clock::now() - kLately, depth);
  }

  /// A write of this mount to a session (0: to the mount itself) has ended, successfully or not.
  void note_own_write(std::uint32_t session) {
    const std::lock_guard lock(own_writes_mutex_);
    own_writes_[session] = own_writes_[0] = std::chrono::steady_clock::now();
  }
  [[nodiscard]] bool written_since(std::uint32_t session, std::chrono::steady_clock::time_point when) {
    const std::lock_guard lock(own_writes_mutex_);
    const auto found = own_writes_.find(session);
    return found != own_writes_.end() && found->second >= when;
  }

  /// For files of the store whose size may change under the same node (blobs, artifacts, checkpoints, native/): records
  /// the size that was reported to the kernel.
  void note_told(const Attr& attr) {
    const Kind kind = attr.node.kind();
    if (kind != Kind::blob && kind != Kind::image && kind != Kind::artifact_file && kind != Kind::checkpoint_file &&
        kind != Kind::native_file) {
      return;
    }
    const std::lock_guard lock(told_mutex_);
    if (told_.size() >= kMaxTold) {
      told_.clear();
    }
    told_[attr.node] = {attr.size, std::chrono::steady_clock::now()};
  }
  /// True if the size that the kernel knows differs from `size`: it must look the name up again before it reads, or the
  /// read would end too early. False for kLately after the report, so that a file that keeps growing can be opened.
  [[nodiscard]] bool told_otherwise(NodeId node, std::uint64_t size) {
    const std::lock_guard lock(told_mutex_);
    const auto found = told_.find(node);
    return found != told_.end() && found->second.first != size &&
           std::chrono::steady_clock::now() - found->second.second > kLately;
  }

  /// When the catalog's present view was first seen: the mtime of folders that list it.
  std::int64_t view_time(const CatalogView& view) {
    const std::lock_guard lock(view_mutex_);
    if (view.version > seen_version_) {
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      view_ns_ = seen_version_ == 0 ? mounted_ns : std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
      seen_version_ = view.version;
    }
    return view_ns_;
  }

 private:
  static constexpr std::chrono::milliseconds kLately{10};
  std::mutex own_writes_mutex_;                                                          // leaf
  std::unordered_map<std::uint32_t, std::chrono::steady_clock::time_point> own_writes_;  // guarded by own_writes_mutex_
  static constexpr std::size_t kMaxTold = 65536;
  using Told = std::pair<std::uint64_t, std::chrono::steady_clock::time_point>;
  std::mutex told_mutex_;                  // leaf
  std::unordered_map<NodeId, Told> told_;  // guarded by told_mutex_
  std::mutex view_mutex_;                  // leaf
  std::uint64_t seen_version_ = 0;         // guarded by view_mutex_
  std::int64_t view_ns_ = 0;               // guarded by view_mutex_
};

}  // namespace arborfs
