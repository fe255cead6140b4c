// The sessions of a catalog that others started, for the formats whose sessions are removed with those that they
// started (Format::removes_children). A snapshot; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/session/catalog.h"

namespace arborfs {

class Children {
 public:
  explicit Children(const Catalog& catalog);
  /// Even if the session that started it is gone.
  static bool is_one(const SessionPtr& session);
  /// Those that a session started, however deep.
  [[nodiscard]] std::vector<SessionPtr> of(const SessionPtr& session) const;

 private:
  using Id = std::pair<std::uint8_t, std::string>;
  void add(const SessionPtr& parent, std::set<std::string>& known, std::vector<SessionPtr>& found) const;
  const CatalogViewPtr view_;
  std::map<Id, std::vector<SessionPtr>> by_parent_;
};

}  // namespace arborfs
