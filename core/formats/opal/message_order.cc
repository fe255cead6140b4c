#include "core/formats/opal/message_order.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace arborfs::opal {
namespace {

constexpr std::size_t kNone = SIZE_MAX;

class Forest {
 public:
  explicit Forest(const std::vector<MessageNode>& messages)
      : messages_(messages), children_(messages.size()), parents_(messages.size(), kNone) {
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      places[messages[i].id] = i;
    }
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const auto parent = messages[i].parent.empty() ? places.end() : places.find(messages[i].parent);
      if (parent == places.end()) {
        roots_.push_back(i);
      } else {
        parents_[i] = parent->second;
        children_[parent->second].push_back(i);
      }
    }
  }

  /// Moves the path to a message to the end of its siblings, level by level.
  void put_last(std::size_t current) {
    std::vector<bool> is_on_path(messages_.size());
    for (std::size_t at = current; at != kNone && !is_on_path[at]; at = parents_[at]) {
      is_on_path[at] = true;
    }
    is_last_ = std::move(is_on_path);
  }

  [[nodiscard]] std::vector<std::size_t> in_order() {
    sort(roots_);
    for (auto& children : children_) {
      sort(children);
    }
    std::vector<std::size_t> trees;
    for (const std::size_t root : roots_) {
      visit(root, trees);
    }
    std::vector<std::size_t> order = loops();
    order.insert(order.end(), trees.begin(), trees.end());
    return order;
  }

  /// The distance of each message from its root; 0 in loops.
  [[nodiscard]] std::vector<std::size_t> depths() {
    std::vector<std::size_t> order;
    for (const std::size_t root : roots_) {
      visit(root, order);
    }
    std::vector<std::size_t> depths(messages_.size());
    for (const std::size_t at : order) {
      depths[at] = parents_[at] == kNone ? 1 : depths[parents_[at]] + 1;
    }
    return depths;
  }

 private:
  void sort(std::vector<std::size_t>& siblings) const {
    std::sort(siblings.begin(), siblings.end(), [this](std::size_t one, std::size_t other) {
      const bool one_last = is_last(one);
      return one_last == is_last(other) ? messages_[one].id < messages_[other].id : !one_last;
    });
  }
  [[nodiscard]] bool is_last(std::size_t at) const { return !is_last_.empty() && is_last_[at]; }

  /// Appends a tree in pre-order, without the messages that were visited before.
  void visit(std::size_t root, std::vector<std::size_t>& order) {
    visited_.resize(messages_.size());
    std::vector<std::size_t> open{root};
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      if (visited_[at]) {
        continue;
      }
      visited_[at] = true;
      order.push_back(at);
      open.insert(open.end(), children_[at].rbegin(), children_[at].rend());
    }
  }

  /// The messages that no root leads to.
  [[nodiscard]] std::vector<std::size_t> loops() {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      if (visited_.empty() || !visited_[i]) {
        left.push_back(i);
      }
    }
    sort(left);
    std::vector<std::size_t> order;
    for (const std::size_t at : left) {
      visit(at, order);
    }
    return order;
  }

  const std::vector<MessageNode>& messages_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<std::size_t> parents_;
  std::vector<std::size_t> roots_;
  std::vector<bool> is_last_;
  std::vector<bool> visited_;
};

}  // namespace

std::vector<std::size_t> order_of(const std::vector<MessageNode>& messages, std::optional<std::size_t> current) {
  Forest forest(messages);
  if (current) {
    forest.put_last(*current);
  }
  return forest.in_order();
}

std::optional<std::size_t> deepest(const std::vector<MessageNode>& messages) {
  const auto depths = Forest(messages).depths();
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < depths.size(); ++i) {
    if (!found || depths[i] >= depths[*found]) {
      found = i;
    }
  }
  return found;
}

}  // namespace arborfs::opal
