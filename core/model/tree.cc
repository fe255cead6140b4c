#include "core/model/tree.h"

#include <algorithm>
#include <optional>

namespace arborfs {
namespace {

// The entry that lookups of this entry's id lead to: the last one with that id (FACTS C2).
Ordinal last_of_id(const LogIndex& index, Ordinal ordinal) {
  if (!index.has_duplicate_ids()) {
    return ordinal;
  }
  const Ordinal found = index.find(index.id(ordinal));
  return found == kNoEntry ? ordinal : found;
}

bool has_no_id(const LogIndex& index, Ordinal ordinal) {
  return index.entry(ordinal).id == 0 && index.id(ordinal).kind == EntryId::Kind::missing;
}

// getTree() knows entries by the last one of their id, those without an id as one (FACTS C2, C5).
class Nodes {
 public:
  explicit Nodes(const LogIndex& index) : index_(index) {
    for (Ordinal o = index.size(); o > 0 && last_without_id_ == kNoEntry; --o) {
      if (has_no_id(index, o)) {
        last_without_id_ = o;
      }
    }
  }
  [[nodiscard]] Ordinal node_of(Ordinal ordinal) const {
    if (last_without_id_ != kNoEntry && has_no_id(index_, ordinal)) {
      return last_without_id_;
    }
    return last_of_id(index_, ordinal);
  }
  // Unlike the path, the tree also follows parents that JavaScript calls falsy: "", 0, false, none.
  [[nodiscard]] Ordinal parent_of(Ordinal ordinal) const;

 private:
  const LogIndex& index_;
  Ordinal last_without_id_ = kNoEntry;
};

Ordinal Nodes::parent_of(Ordinal ordinal) const {
  Ordinal parent = kNoEntry;
  if (index_.entry(ordinal).parent != 0) {
    parent = index_.parent(ordinal);
  } else {
    const EntryId named = index_.parent_id(ordinal);
    if (named.kind == EntryId::Kind::missing) {
      parent = last_without_id_;
    } else if (named != EntryId{EntryId::Kind::other, "null"}) {
      parent = index_.find(named);
    }
  }
  return parent == node_of(ordinal) ? kNoEntry : parent;
}

// Children of each node, sorted, in one array: those of node n lie from starts[n] up to starts[n + 1].
struct Children {
  std::vector<std::size_t> starts;
  std::vector<Ordinal> all;
  std::vector<Ordinal> roots;
};

void sort_children(Children& children, const LogIndex& index) {
  std::vector<Ordinal> some;
  for (Ordinal node = 1; node <= index.size(); ++node) {
    const auto begin = children.all.begin() + static_cast<std::ptrdiff_t>(children.starts[node]);
    const auto end = children.all.begin() + static_cast<std::ptrdiff_t>(children.starts[node + 1]);
    if (end - begin > 1) {
      some.assign(begin, end);
      sort_like_agents(some, index);
      std::copy(some.begin(), some.end(), begin);
    }
  }
}

Children children_of(const LogIndex& index) {
  const Nodes nodes(index);
  std::vector<Ordinal> parents(index.size() + std::size_t{1}, kNoEntry);
  Children children;
  children.starts.assign(index.size() + std::size_t{2}, 0);
  for (Ordinal o = 1; o <= index.size(); ++o) {
    parents[o] = nodes.parent_of(o);
    if (parents[o] == kNoEntry) {
      children.roots.push_back(nodes.node_of(o));
    } else {
      ++children.starts[parents[o] + std::size_t{1}];
    }
  }
  for (std::size_t n = 1; n < children.starts.size(); ++n) {
    children.starts[n] += children.starts[n - 1];
  }
  children.all.resize(children.starts.back());
  std::vector<std::size_t> fill = children.starts;
  for (Ordinal o = 1; o <= index.size(); ++o) {
    if (parents[o] != kNoEntry) {
      children.all[fill[parents[o]]++] = nodes.node_of(o);
    }
  }
  sort_children(children, index);
  return children;
}

// Lists nodes in pre-order. Duplicate ids can make a node its own descendant, and can repeat whole subtrees until
// nobody could list them: the first are cut, the second are repeated only while the list stays short.
class PreOrder {
 public:
  PreOrder(const Children& children, Ordinal size)
      : children_(children), limit_(std::size_t{size} * 4 + 1000), seen_(size + std::size_t{1}), on_path_(seen_) {}

  void walk(Ordinal root, std::vector<TreeNode>& out);
  [[nodiscard]] bool has_seen(Ordinal node) const { return seen_[node]; }

 private:
  struct Open {
    Ordinal node;
    std::size_t next;
  };
  void enter(Ordinal node, std::vector<TreeNode>& out);

  const Children& children_;
  std::size_t limit_;
  std::vector<bool> seen_;
  std::vector<bool> on_path_;
  std::vector<Open> open_;
};

void PreOrder::enter(Ordinal node, std::vector<TreeNode>& out) {
  const bool is_repeated = seen_[node];
  out.push_back({node, static_cast<std::uint32_t>(open_.size())});
  seen_[node] = true;
  if (!is_repeated || out.size() < limit_) {
    on_path_[node] = true;
    open_.push_back({node, children_.starts[node]});
  }
}

void PreOrder::walk(Ordinal root, std::vector<TreeNode>& out) {
  enter(root, out);
  while (!open_.empty()) {
    Open& top = open_.back();
    if (top.next == children_.starts[top.node + std::size_t{1}]) {
      on_path_[top.node] = false;
      open_.pop_back();
      continue;
    }
    const Ordinal child = children_.all[top.next++];
    if (!on_path_[child]) {
      enter(child, out);
    }
  }
}

}  // namespace

std::vector<Ordinal> path_to(const LogIndex& index, Ordinal leaf) {
  std::vector<Ordinal> path;
  if (leaf == kNoEntry) {
    return path;
  }
  std::vector<bool> seen(index.size() + std::size_t{1});
  path.push_back(leaf);
  seen[leaf] = true;
  seen[last_of_id(index, leaf)] = true;
  for (Ordinal at = index.parent(leaf); at != kNoEntry && !seen[at]; at = index.parent(at)) {
    seen[at] = true;
    path.push_back(at);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

Tree tree_of(const LogIndex& index) {
  const Children children = children_of(index);
  PreOrder order(children, index.size());
  Tree tree;
  tree.nodes.reserve(index.size());
  for (const Ordinal root : children.roots) {
    order.walk(root, tree.nodes);
  }
  const Nodes nodes(index);
  for (Ordinal o = 1; o <= index.size(); ++o) {
    if (!order.has_seen(nodes.node_of(o))) {
      tree.unreachable.push_back(o);
    }
  }
  return tree;
}

}  // namespace arborfs
