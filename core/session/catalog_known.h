// What a catalog knows beside its view; for catalog*.cc alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "core/session/catalog.h"

namespace arborfs {

/// A session with what its names come from, read once, so that a change while a view is made is noticed later.
struct Catalog::Placed {
  SessionPtr session;
  LogPlace place;
  Session::Standing standing;
  std::string shown_before;  // its path in the view before, "" when it was in none
  bool has_moved = false;    // it was shown elsewhere, or under another id
};

struct Catalog::Known {
  std::map<LogPlace, SessionPtr> sessions;
  std::set<std::string> submounts;  // folders
  std::map<std::string, std::unique_ptr<std::mutex>>
      submount_turns;                                    // as rescan_mutex_, of folders that ever were submounts
  std::map<std::string, std::uint32_t> project_numbers;  // by cwd
  std::uint32_t last_session = 0;
  std::uint32_t last_project = 0;
  std::uint64_t version = 0;
};

}  // namespace arborfs
