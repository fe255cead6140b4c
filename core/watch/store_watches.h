// The inotify watches on the folders of the stores of a catalog, and the work that their events require. Used by one
// thread, except for how().
#pragma once

#include <sys/inotify.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/unique_fd.h"
#include "core/session/catalog.h"

namespace arborfs {

class StoreWatches {
 public:
  /// The work that some events require.
  struct News {
    std::set<LogPlace> touched;
    std::set<LogFolder> changed_folders;
    bool everything = false;     // all stores are to be scanned, and their folders watched anew
    bool leaves_moved = false;   // the folder of moved leaves changed
    bool way_to_leaves = false;  // a folder on the way to it appeared
    bool terminals = false;      // an agent's breadcrumb changed
  };

  /// Watches nothing yet. If `uses_inotify` is false, or the kernel's limit on inotify is reached, it never does.
  /// `catalog` outlives it.
  StoreWatches(Catalog& catalog, bool uses_inotify);

  /// The descriptor to poll for events; -1 without inotify.
  [[nodiscard]] int fd() const { return notify_.get(); }
  /// True if each folder of logs that a store names is watched and inotify reports its changes.
  [[nodiscard]] bool is_complete() const;
  /// True if stores name more or fewer folders than at the last renew().
  [[nodiscard]] bool is_outdated() const;
  /// "inotify", or "polling: <why>". Thread-safe.
  [[nodiscard]] std::string how() const;

  /// In each store, one watch on the sessions folder, one on each directory of logs, one on the breadcrumbs. One on the
  /// moved leaves of all stores.
  void renew();
  /// Watches the folder of moved leaves; until it exists, the last existing folder on the way to it.
  void watch_leaves();
  /// The folder of moved leaves of all stores.
  [[nodiscard]] const std::string& leaves_folder() const;

  /// Reads the events that have arrived. A move is reported by two events: waits a moment for a missing second one.
  News take();

 private:
  enum class What : std::uint8_t { root, way_to_logs, folder, terminals, leaves, way_to_leaves };
  /// The purpose of a watch.
  struct Watched {
    What what = What::root;
    LogFolder folder;  // of a folder; of a root only its store
    auto operator<=>(const Watched&) const = default;
  };
  /// The events that were read, and the cookies of moves that have left one place and not yet reached another.
  struct Reading {
    News news;
    std::set<std::uint32_t> half_moves;
  };

  [[nodiscard]] std::vector<std::pair<std::uint8_t, WatchedDir>> dirs_of_logs() const;
  static std::uint32_t events_of(What what);
  bool add(const std::string& path, const Watched& meaning);
  void set_how(std::string text);
  void read(Reading& reading);
  void sort(const inotify_event& event, Reading& reading);
  void sort_as(const Watched& meaning, const inotify_event& event, Reading& reading) const;
  void sort_in(const LogFolder& folder, const inotify_event& event, Reading& reading) const;
  [[nodiscard]] const SessionStore& store_of(const Watched& watched) const;

  Catalog& catalog_;
  UniqueFd notify_;
  std::map<int, std::set<Watched>> meanings_;  // by watch: a sessions folder may hold logs itself
  std::size_t watched_dirs_ = 0;
  bool partly_ = false;  // some folder could not be watched
  mutable std::mutex mutex_;
  std::string how_;  // guarded by mutex_
};

}  // namespace arborfs
