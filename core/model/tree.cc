#include <algorithm>
#include <optional>

#include "core/model/tree_reader.h"

namespace arborfs {
namespace {

// The entry that a lookup of this entry's id gives: the last one with that id (omp/FORMAT.md C2).
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

// The children of all nodes in one array: those of node n are at [starts[n], starts[n + 1]).
struct Children {
  std::vector<std::size_t> starts;
  std::vector<Ordinal> all;
  std::vector<Ordinal> roots;
};

void sort_children(Children& children, const std::vector<std::int64_t>& times) {
  std::vector<Ordinal> some;
  for (std::size_t node = 1; node + 1 < children.starts.size(); ++node) {
    const auto begin = children.all.begin() + static_cast<std::ptrdiff_t>(children.starts[node]);
    const auto end = children.all.begin() + static_cast<std::ptrdiff_t>(children.starts[node + 1]);
    if (end - begin > 1) {
      some.assign(begin, end);
      sort_like_agents(some, times);
      std::copy(some.begin(), some.end(), begin);
    }
  }
}

// `parents` and `nodes` are indexed by ordinal. If `nodes` is empty, each entry is its own node.
Children children_of(const std::vector<Ordinal>& parents, const std::vector<Ordinal>& nodes) {
  const auto node_of = [&nodes](Ordinal o) { return nodes.empty() ? o : nodes[o]; };
  Children children;
  children.starts.assign(parents.size() + 1, 0);
  for (Ordinal o = 1; o < parents.size(); ++o) {
    if (parents[o] == kNoEntry) {
      children.roots.push_back(node_of(o));
    } else {
      ++children.starts[parents[o] + std::size_t{1}];
    }
  }
  for (std::size_t n = 1; n < children.starts.size(); ++n) {
    children.starts[n] += children.starts[n - 1];
  }
  children.all.resize(children.starts.back());
  std::vector<std::size_t> fill = children.starts;
  for (Ordinal o = 1; o < parents.size(); ++o) {
    if (parents[o] != kNoEntry) {
      children.all[fill[parents[o]]++] = node_of(o);
    }
  }
  return children;
}

// Lists nodes in pre-order. Duplicate ids can make a node its own descendant; such cycles are cut. They can also repeat
// whole subtrees exponentially often; subtrees are repeated only while the list is shorter than limit_.
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

Ordinal first_user_message(const LogIndex& index) {
  const auto path = path_to(index, index.leaf());
  const auto first = std::find_if(path.begin(), path.end(), [&](Ordinal step) { return index.name(step) == "user"; });
  return first == path.end() ? kNoEntry : *first;
}

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

TreeReader::TreeReader(const LogIndex& index)
    : size_(index.size()), has_others_(index.has_duplicate_ids()), parents_(size_ + std::size_t{1}, kNoEntry) {
  for (Ordinal o = size_; o > 0 && last_without_id_ == kNoEntry; --o) {
    if (has_no_id(index, o)) {
      last_without_id_ = o;
    }
  }
  if (has_others_ || last_without_id_ != kNoEntry) {
    nodes_.assign(size_ + std::size_t{1}, kNoEntry);
  }
  times_.assign(size_ + std::size_t{1}, Entry::kNoTime);
}

// getTree() represents each entry by the last one with the same id, and all entries without an id by the last of them
// (omp/FORMAT.md C2, C5).
Ordinal TreeReader::node_of(const LogIndex& index, Ordinal ordinal) const {
  if (last_without_id_ != kNoEntry && has_no_id(index, ordinal)) {
    return last_without_id_;
  }
  return has_others_ ? last_of_id(index, ordinal) : ordinal;
}

// Unlike the path, the tree also follows falsy parents: "", 0, false and a missing one.
Ordinal TreeReader::parent_of(const LogIndex& index, Ordinal ordinal) const {
  Ordinal parent = kNoEntry;
  if (index.entry(ordinal).parent != 0) {
    parent = index.parent(ordinal);
  } else {
    const EntryId named = index.parent_id(ordinal);
    if (named.kind == EntryId::Kind::missing) {
      parent = last_without_id_;
    } else if (named != EntryId{EntryId::Kind::other, "null"}) {
      parent = index.find(named);
    }
  }
  return parent > size_ || parent == node_of(index, ordinal) ? kNoEntry : parent;
}

bool TreeReader::read(const LogIndex& index, Ordinal most) {
  for (; most != 0 && next_ <= size_; --most, ++next_) {
    parents_[next_] = parent_of(index, next_);
    times_[next_] = index.entry(next_).timestamp_ms;
    if (!nodes_.empty()) {
      nodes_[next_] = node_of(index, next_);
    }
  }
  return next_ <= size_;
}

Tree TreeReader::take() {
  Children children = children_of(parents_, nodes_);
  parents_ = {};
  sort_children(children, times_);
  times_ = {};
  PreOrder order(children, size_);
  Tree tree;
  tree.nodes.reserve(size_);
  for (const Ordinal root : children.roots) {
    order.walk(root, tree.nodes);
  }
  for (Ordinal o = 1; o <= size_; ++o) {
    if (!order.has_seen(nodes_.empty() ? o : nodes_[o])) {
      tree.unreachable.push_back(o);
    }
  }
  return tree;
}

Tree tree_of(const LogIndex& index) {
  TreeReader reader(index);
  reader.read(index, index.size());
  return reader.take();
}

}  // namespace arborfs
