// The state of a catalog besides its view; for catalog*.cc only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/session/catalog.h"
#include "core/session/parallel_scan.h"

namespace arborfs {

/// A session and the facts from which its names are made, read once: a change during a rebuild of the view is noticed
/// later.
struct Catalog::Placed {
  SessionPtr session;
  LogPlace place;
  Session::Standing standing;
  bool is_child = false;     // it is shown in the children/ of another
  std::string shown_before;  // its path in the previous view, "" if it was in none
  bool has_moved = false;    // the previous view showed it at another path or under another id
};

/// The state that the sessions of one store share.
struct Catalog::OfStore {
  OfStore(const std::shared_ptr<SessionStore>& store, const std::string& folder, Catalog& catalog)
      : state(*store, folder),
        shared{store,
               &catalog.feed_,
               &state.leaves,
               &state.erased,
               catalog.documents_.get(),
               catalog.loaded_.get(),
               catalog.generations_} {}
  StoreState state;
  Session::Shared shared;
};

/// The findings of one rescan, before they are sorted into moved, new and vanished logs.
struct Catalog::Placing {
  FolderScans found;  // folders that have been listed already
  std::list<FoundLog> appeared;
  std::vector<SessionPtr> missing;
  std::vector<SessionPtr> changed;

  /// The new place of a log that is missing; appeared.end() if it was not found.
  [[nodiscard]] std::list<FoundLog>::iterator place_of(const Session& gone) {
    return std::find_if(appeared.begin(), appeared.end(),
                        [stat = gone.stat(), store = gone.store_number()](const FoundLog& log) {
                          return log.place.store == store && log.stat.same_file(stat);
                        });
  }
  /// Both parts stay in the order of the scan, which is that of places.
  void put_linked_last() {
    std::list<FoundLog> linked;
    for (auto log = appeared.begin(); log != appeared.end();) {
      const auto next = std::next(log);
      if (log->is_linked) {
        linked.splice(linked.end(), appeared, log);
      }
      log = next;
    }
    appeared.splice(appeared.end(), linked);
  }
  [[nodiscard]] bool has_lost_any() {
    return std::any_of(missing.begin(), missing.end(),
                       [this](const SessionPtr& gone) { return place_of(*gone) == appeared.end(); });
  }
};

struct Catalog::Known {
  std::map<LogPlace, SessionPtr> sessions;
  /// Why a name in a folder of logs is no session (FoundLog::left_out); with the file "", why the folder has no logs.
  std::map<LogPlace, std::string> left_out;
  std::set<LogPlace> linked;  // sessions, and names in left_out, to which a symbolic link leads
  std::set<LogFolder> submounts;
  std::map<LogFolder, std::unique_ptr<std::mutex>>
      submount_turns;                                    // like rescan_mutex_, for each that ever was a submount
  std::map<std::string, std::uint32_t> project_numbers;  // by cwd
  std::uint32_t last_session = 0;
  std::uint32_t last_project = 0;
  std::uint64_t version = 0;
};

}  // namespace arborfs
