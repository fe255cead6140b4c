// Maps changes to the items that the kernel should invalidate: attributes of folders and growing files, and names, but
// only those that it may have cached (cache_tracker.h). This is only an optimisation that makes changes visible at
// once; without it everything is correct within a moment (attr.h). Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/change_feed.h"
#include "fs/tree/mount_state.h"

namespace arborfs {

class InvalidationMap {
 public:
  explicit InvalidationMap(MountState& state) : state_(state) {}
  /// The invalidations for several changes, each once.
  [[nodiscard]] std::vector<Invalidation> forgets(const std::vector<Change>& changes) const;
  /// The items of `all` that the kernel may have cached.
  [[nodiscard]] std::vector<Invalidation> known(std::vector<Invalidation> all) const;
  /// Adds those for the folder where a session is or was shown: `path` is CatalogView::path_of, `starter`
  /// ShownAt::starter.
  void add_place(const std::string& path, std::uint32_t starter, std::vector<Invalidation>& out) const;

 private:
  void add_children(std::uint32_t starter, std::vector<Invalidation>& out) const;
  void add_session(const Change& change, std::vector<Invalidation>& out) const;
  void add_catalog(const Change& change, std::vector<Invalidation>& out) const;
  void add_folder_names(std::vector<Invalidation>& out) const;
  void add_unlisted_names(NodeId folder, const Project& project, std::vector<Invalidation>& out) const;
  void add_ids(NodeId folder, const std::string& id, std::vector<Invalidation>& out) const;
  void add_all_in(NodeId folder, std::vector<Invalidation>& out) const;
  MountState& state_;
};

/// True if the name is a link that leads to another node after every change.
bool leads_elsewhere(const Invalidation& name);

/// The names in a session's folder that may lead to another node after a change, including folders whose content
/// belongs to a generation, if that has changed.
std::vector<std::string_view> changing_names(Change::Kind change);

}  // namespace arborfs
