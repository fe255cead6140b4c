// What the kernel should be told when something changed: which folders and growing files to ask about again, which
// names to look up again, of those that it may know (cache_tracker.h). Only a hint that makes changes show at once;
// everything is right within a moment without it (attr.h). Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/session/change_feed.h"
#include "fs/tree/mount_state.h"

namespace arborfs {

class InvalidationMap {
 public:
  explicit InvalidationMap(MountState& state) : state_(state) {}
  /// For several changes at once, each thing named once.
  [[nodiscard]] std::vector<Invalidation> forgets(const std::vector<Change>& changes) const;
  /// Those of `all` that the kernel may know.
  [[nodiscard]] std::vector<Invalidation> known(std::vector<Invalidation> all) const;

 private:
  void add_session(const Change& change, std::vector<Invalidation>& out) const;
  void add_catalog(const Change& change, std::vector<Invalidation>& out) const;
  void add_folder_names(std::vector<Invalidation>& out) const;
  void add_ids(const std::string& id, std::vector<Invalidation>& out) const;
  void add_all_in(NodeId folder, std::vector<Invalidation>& out) const;
  MountState& state_;
};

/// It is the name of a link that never leads to the same node again once something has changed.
bool leads_elsewhere(const Invalidation& name);

/// The names in a session's folder that may have another node after a change; `after_rewrite` adds the folders of a
/// generation.
std::vector<std::string_view> changing_names(bool after_rewrite);

}  // namespace arborfs
