// The state of a catalog besides its view; for catalog*.cc only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "core/session/catalog.h"

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

struct Catalog::Known {
  std::map<LogPlace, SessionPtr> sessions;
  std::set<LogFolder> submounts;
  std::map<LogFolder, std::unique_ptr<std::mutex>>
      submount_turns;                                    // like rescan_mutex_, for each folder that ever was a submount
  std::map<std::string, std::uint32_t> project_numbers;  // by cwd
  std::uint32_t last_session = 0;
  std::uint32_t last_project = 0;
  std::uint64_t version = 0;
};

}  // namespace arborfs
