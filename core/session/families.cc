#include "core/session/families.h"

#include <algorithm>
#include <map>
#include <utility>

namespace arborfs {
namespace {

constexpr std::size_t kNone = Families::kNone;

std::vector<std::size_t> starters_by_id(const std::vector<FamilyMember>& members) {
  std::map<std::pair<std::uint8_t, std::string_view>, std::size_t> by_id;
  for (std::size_t i = 0; i < members.size(); ++i) {
    by_id.try_emplace({members[i].store, members[i].id}, i);
  }
  std::vector<std::size_t> starter(members.size(), kNone);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto found =
        members[i].started_by.empty() ? by_id.end() : by_id.find({members[i].store, members[i].started_by});
    starter[i] = found == by_id.end() ? kNone : found->second;
  }
  return starter;
}

/// Removes the starters of all sessions that are in a cycle.
void break_circles(std::vector<std::size_t>& starter) {
  std::vector<std::size_t> walk(starter.size(), kNone);  // the walk that visited each
  for (std::size_t i = 0; i < starter.size(); ++i) {
    std::size_t at = i;
    for (; at != kNone && walk[at] == kNone; at = starter[at]) {
      walk[at] = i;
    }
    const bool is_circle = at != kNone && walk[at] == i;
    while (is_circle && starter[at] != kNone) {
      at = std::exchange(starter[at], kNone);
    }
  }
}

/// Also removes the starters of sessions that would be too deep.
std::vector<std::size_t> order_by_depth(std::vector<std::size_t>& starter) {
  std::vector<std::pair<std::size_t, std::size_t>> children;  // starter and child
  std::vector<std::size_t> order;
  order.reserve(starter.size());
  for (std::size_t i = 0; i < starter.size(); ++i) {
    if (starter[i] == kNone) {
      order.push_back(i);
    } else {
      children.emplace_back(starter[i], i);
    }
  }
  std::sort(children.begin(), children.end());
  std::vector<std::size_t> depth(starter.size(), 0);
  for (std::size_t next = 0; next < order.size(); ++next) {
    const std::size_t at = order[next];
    for (auto child = std::lower_bound(children.begin(), children.end(), std::pair{at, std::size_t{0}});
         child != children.end() && child->first == at; ++child) {
      const bool is_too_deep = depth[at] == Families::kDeepest;
      depth[child->second] = is_too_deep ? 0 : depth[at] + 1;
      starter[child->second] = is_too_deep ? kNone : at;
      order.push_back(child->second);
    }
  }
  return order;
}

}  // namespace

Families families_of(const std::vector<FamilyMember>& members) {
  Families families;
  const bool has_any =
      std::any_of(members.begin(), members.end(), [](const FamilyMember& one) { return !one.started_by.empty(); });
  families.starter = has_any ? starters_by_id(members) : std::vector<std::size_t>(members.size(), kNone);
  break_circles(families.starter);
  families.order = order_by_depth(families.starter);
  return families;
}

}  // namespace arborfs
