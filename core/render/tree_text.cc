// draw_tree: from the nodes in pre-order to lines. A node stands in the column of its parent unless it has siblings;
// so only branch points move the drawing to the right.
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/render/text.h"
#include "core/render/views.h"

namespace arborfs {
namespace {

constexpr std::size_t kMaxLevels = 40;  // drawn; deeper ones are told by number
constexpr std::size_t kWordColumns = 60;
constexpr std::size_t kIdColumns = 40;
constexpr std::size_t kLabelColumns = 80;
constexpr std::size_t kOrdinalDigits = 6;
constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);

/// How a node hangs on the tree.
struct Place {
  std::size_t parent = kNoNode;
  std::size_t children = 0;
  std::size_t last_child = kNoNode;
  std::uint32_t level = 0;  // branch points above it
};

/// `roots` is the place that stands for the parent of all roots.
std::vector<Place> places_of(const std::vector<TreeNode>& nodes, Place& roots) {
  std::vector<Place> places(nodes.size());
  std::vector<std::size_t> open;  // by depth
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    open.resize(std::min<std::size_t>(open.size(), nodes[i].depth));
    places[i].parent = open.empty() ? kNoNode : open.back();
    open.push_back(i);
    Place& parent = places[i].parent == kNoNode ? roots : places[places[i].parent];
    ++parent.children;
    parent.last_child = i;
  }
  for (Place& place : places) {
    const Place& parent = place.parent == kNoNode ? roots : places[place.parent];
    place.level = parent.level + (parent.children > 1 ? 1 : 0);
  }
  return places;
}

class Drawing {
 public:
  Drawing(const LogIndex& index, Ordinal leaf, const TreeText& text) : index_(index), leaf_(leaf), text_(text) {
    for (const Label& label : index.labels()) {
      labels_.insert_or_assign(key_of(label.target), visible_line(label.text, kLabelColumns));
    }
  }

  std::string draw(const Tree& tree) {
    Place roots;
    const std::vector<Place> places = places_of(tree.nodes, roots);
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const Place& parent = places[i].parent == kNoNode ? roots : places[places[i].parent];
      indent(places[i].level, parent.children > 1, parent.last_child == i);
      line(tree.nodes[i].ordinal);
    }
    if (!tree.unreachable.empty()) {
      out_ += "\nNot reachable from any root:\n";
    }
    for (const Ordinal ordinal : tree.unreachable) {
      line(ordinal);
    }
    return std::move(out_);
  }

 private:
  static std::string key_of(const EntryId& id) { return (id.kind == EntryId::Kind::string ? "s" : "o") + id.text; }

  void indent(std::size_t level, bool branches, bool is_last) {
    if (branches) {
      goes_on_.resize(std::max(goes_on_.size(), level));
    }
    const std::size_t above = branches ? level - 1 : level;
    for (std::size_t i = 0; i < std::min(above, kMaxLevels); ++i) {
      out_ += goes_on_[i] ? "│  " : "   ";
    }
    if (above > kMaxLevels) {
      out_ += "(+" + std::to_string(above - kMaxLevels) + ") ";
    }
    if (branches) {
      out_ += is_last ? "└─ " : "├─ ";
      goes_on_[level - 1] = !is_last;
    }
  }

  void line(Ordinal ordinal) {
    const std::string number = std::to_string(ordinal);
    out_.append(kOrdinalDigits - std::min(kOrdinalDigits, number.size()), '0');
    out_ += number + " " + visible_line(index_.name(ordinal), kIdColumns);
    const EntryId id = index_.id(ordinal);
    if (id.kind != EntryId::Kind::missing) {
      out_ += " " + visible_line(id.text, kIdColumns);
    }
    const std::string words = visible_line(text_.first_words(ordinal), kWordColumns);
    if (!words.empty()) {
      out_ += "  " + words;
    }
    const auto label = id.kind == EntryId::Kind::missing ? labels_.end() : labels_.find(key_of(id));
    if (label != labels_.end()) {
      out_ += "  [" + label->second + "]";
    }
    out_ += ordinal == leaf_ ? "  <- leaf\n" : "\n";
  }

  const LogIndex& index_;
  Ordinal leaf_;
  const TreeText& text_;
  std::unordered_map<std::string, std::string> labels_;
  std::vector<bool> goes_on_;  // by level: a sibling is still to come
  std::string out_;
};

}  // namespace

std::string draw_tree(const LogIndex& index, Ordinal leaf, const TreeText& text) {
  return Drawing(index, leaf, text).draw(tree_of(index));
}

}  // namespace arborfs
