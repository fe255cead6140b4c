// What all operations of one mount share: the catalog it shows, and the numbers it has given out. Every member is
// thread-safe by itself and outlives every request.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "core/session/catalog.h"
#include "fs/intern_table.h"
#include "fs/inode_number.h"
#include "fs/lineages.h"
#include "fs/open_documents.h"
#include "fs/slot_table.h"

namespace arborfs {

struct MountState {
  MountState(Catalog& shown, bool is_read_only)
      : catalog(shown),
        read_only(is_read_only),
        mounted_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count()) {}

  Catalog& catalog;
  const bool read_only;
  const std::int64_t mounted_ns;
  /// How changes are noticed, for status.json; set before the first request.
  std::function<std::string()> watching = [] { return std::string("nothing"); };

  SlotTable slots;
  InodeSeeds seeds;
  InternTable artifact_paths;
  InternTable blob_names;
  OpenDocuments documents;
  Lineages lineages;
  TextVersions versions;

  /// Whether a session was brought up to date so lately that another look at its log can be spared. Only what other
  /// processes did can be missed by it, and only for kLately; own writes are in the session's state at once.
  [[nodiscard]] bool refreshed_lately(std::uint32_t session, Depth depth) {
    const std::lock_guard lock(refreshed_mutex_);
    const auto found = refreshed_.find(session);
    return found != refreshed_.end() && depth <= found->second.first &&
           std::chrono::steady_clock::now() - found->second.second < kLately;
  }
  void note_refreshed(std::uint32_t session, Depth depth) {
    const std::lock_guard lock(refreshed_mutex_);
    refreshed_[session] = {depth, std::chrono::steady_clock::now()};
  }

  /// When the catalog's present view was first looked at: the time of folders that list it.
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
  using Refreshed = std::pair<Depth, std::chrono::steady_clock::time_point>;
  std::mutex refreshed_mutex_;                              // leaf
  std::unordered_map<std::uint32_t, Refreshed> refreshed_;  // by session; guarded by refreshed_mutex_
  std::mutex view_mutex_;                                   // leaf
  std::uint64_t seen_version_ = 0;  // guarded by view_mutex_
  std::int64_t view_ns_ = 0;        // guarded by view_mutex_
};

}  // namespace arborfs
