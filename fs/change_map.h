// What the kernel should be told when something changed: which folders and growing files to ask about again, which
// names to look up again. Only a hint that makes changes show at once; everything is right within a moment without
// it (attr.h). Used by one thread.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/session/change_feed.h"
#include "fs/mount_state.h"

namespace arborfs {

/// Ask again about a node's attributes (name empty), or look a name in it up again.
struct Forget {
  NodeId node;
  std::string name;
};

class ChangeMap {
 public:
  explicit ChangeMap(MountState& state) : state_(state) {}
  /// For several changes at once, each thing named once.
  std::vector<Forget> forgets(const std::vector<Change>& changes);

 private:
  void add_session(const Change& change, std::vector<Forget>& out);
  void add_catalog(const Change& change, std::vector<Forget>& out);
  void add_shortcuts(std::vector<Forget>& out);
  MountState& state_;
  std::set<std::string> recent_names_;  // told last time: a session that moved on leaves its old name behind
};

/// The names in a session's folder that may have another node after a change; `after_rewrite` adds the folders of a
/// generation.
std::vector<std::string_view> changing_names(bool after_rewrite);

}  // namespace arborfs
