#include "core/entry/tree.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "core/entry/people_path.h"

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

// Unlike the path, the agents' tree also follows the parents "", 0 and false (omp/FORMAT.md C5).
Ordinal falsy_parent(const LogIndex& index, Ordinal ordinal) {
  const EntryId named = index.parent_id(ordinal);
  const bool is_root = named.kind == EntryId::Kind::missing || named == EntryId{EntryId::Kind::other, "null"};
  return is_root ? kNoEntry : index.find(named);
}

// The handle of the id that an entry names as its parent, 0 for none.
std::uint32_t named_parent(const LogIndex& index, Ordinal ordinal) {
  if (const std::uint32_t named = index.entry(ordinal).parent; named != 0) {
    return named;
  }
  const Ordinal found = falsy_parent(index, ordinal);
  return found == kNoEntry ? 0 : index.entry(found).id;
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

// `parents` is indexed by ordinal.
Children children_of(const std::vector<Ordinal>& parents) {
  Children children;
  children.starts.assign(parents.size() + 1, 0);
  for (Ordinal o = 1; o < parents.size(); ++o) {
    if (parents[o] == kNoEntry) {
      children.roots.push_back(o);
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
      children.all[fill[parents[o]]++] = o;
    }
  }
  return children;
}

// Lists the node and all below it in pre-order. Each entry has one parent, so what a root reaches has no loop.
void walk(const Children& children, Ordinal root, std::vector<TreeNode>& out) {
  struct Open {
    Ordinal node;
    std::size_t next;
  };
  std::vector<Open> open{{root, children.starts[root]}};
  out.push_back({root, 0});
  while (!open.empty()) {
    Open& top = open.back();
    if (top.next == children.starts[top.node + std::size_t{1}]) {
      open.pop_back();
      continue;
    }
    const Ordinal child = children.all[top.next++];
    out.push_back({child, static_cast<std::uint32_t>(open.size())});
    open.push_back({child, children.starts[child]});
  }
}

// Finds the place of each entry of a log in which ids occur several times. All by ordinal: `ids` has the handles of
// their ids, `named` those of the ids that they name as their parents.
class Places {
 public:
  Places(const std::vector<std::uint32_t>& ids, const std::vector<std::uint32_t>& named) : ids_(ids), named_(named) {
    for (Ordinal o = 1; o < ids.size(); ++o) {
      if (ids[o] != 0) {
        add(o);
      }
    }
  }

  // The entry below which this one stands: the one that it repeats, else its parent.
  [[nodiscard]] Ordinal parent(Ordinal ordinal) const {
    if (const auto repeated = repeated_.find(ordinal); repeated != repeated_.end()) {
      return repeated->second;
    }
    const auto found = by_id_.find(named_[ordinal]);
    if (named_[ordinal] == 0 || named_[ordinal] == ids_[ordinal] || found == by_id_.end()) {
      return kNoEntry;
    }
    const auto& rows = found->second;
    const auto later = std::lower_bound(rows.begin(), rows.end(), ordinal,
                                        [](const Row* row, Ordinal wanted) { return row->first < wanted; });
    return (later == rows.begin() ? rows.front() : *std::prev(later))->last;
  }

 private:
  // The entries that have one id and name one parent: a row that was written once or several times.
  struct Row {
    Ordinal first;
    Ordinal last;
  };

  void add(Ordinal ordinal) {
    const std::uint64_t key = std::uint64_t{ids_[ordinal]} << 32U | named_[ordinal];
    const auto [at, is_new] = rows_.try_emplace(key, Row{ordinal, ordinal});
    if (is_new) {
      by_id_[ids_[ordinal]].push_back(&at->second);
    } else {
      repeated_[ordinal] = at->second.last;
      at->second.last = ordinal;
    }
  }

  const std::vector<std::uint32_t>& ids_;
  const std::vector<std::uint32_t>& named_;
  std::unordered_map<std::uint64_t, Row> rows_;
  std::unordered_map<std::uint32_t, std::vector<const Row*>> by_id_;  // in the order of their first entries
  std::unordered_map<Ordinal, Ordinal> repeated_;                     // the entry before, by repetition
};

std::vector<Ordinal> all_but(const std::vector<TreeNode>& nodes, Ordinal size) {
  std::vector<bool> listed(size + std::size_t{1});
  for (const TreeNode& node : nodes) {
    listed[node.ordinal] = true;
  }
  std::vector<Ordinal> others;
  for (Ordinal o = 1; o <= size; ++o) {
    if (!listed[o]) {
      others.push_back(o);
    }
  }
  return others;
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

TreeReader::TreeReader(const LogIndex& index)
    : size_(index.size()), finds_places_(index.has_duplicate_ids()), parents_(size_ + std::size_t{1}, kNoEntry) {
  times_.assign(size_ + std::size_t{1}, Entry::kNoTime);
  if (finds_places_) {
    ids_.assign(size_ + std::size_t{1}, 0);
    named_ = ids_;
  }
}

// For a log in which no id occurs twice.
Ordinal TreeReader::parent_of(const LogIndex& index, Ordinal ordinal) const {
  const Ordinal parent = index.entry(ordinal).parent == 0 ? falsy_parent(index, ordinal) : index.parent(ordinal);
  return parent > size_ || parent == ordinal ? kNoEntry : parent;
}

bool TreeReader::read(const LogIndex& index, Ordinal most) {
  for (; most != 0 && next_ <= size_; --most, ++next_) {
    times_[next_] = index.entry(next_).timestamp_ms;
    if (finds_places_) {
      ids_[next_] = index.entry(next_).id;
      named_[next_] = named_parent(index, next_);
    } else {
      parents_[next_] = parent_of(index, next_);
    }
  }
  return next_ <= size_;
}

Tree TreeReader::take() {
  if (finds_places_) {
    const Places places(ids_, named_);
    for (Ordinal o = 1; o <= size_; ++o) {
      parents_[o] = places.parent(o);
    }
  }
  Children children = children_of(parents_);
  parents_ = {};
  sort_children(children, times_);
  times_ = {};
  Tree tree;
  tree.nodes.reserve(size_);
  for (const Ordinal root : children.roots) {
    walk(children, root, tree.nodes);
  }
  if (tree.nodes.size() < size_) {
    tree.unreachable = all_but(tree.nodes, size_);
  }
  return tree;
}

Tree tree_of(const LogIndex& index) {
  TreeReader reader(index);
  reader.read(index, index.size());
  return reader.take();
}

}  // namespace arborfs
