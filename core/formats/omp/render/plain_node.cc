#include "core/formats/omp/render/plain_node.h"

#include <algorithm>
#include <array>
#include <vector>

namespace arborfs {

namespace {

constexpr std::array<NodeKind, 256> kKinds = [] {
  std::array<NodeKind, 256> kinds{};
  kinds.fill(NodeKind::number);
  kinds['{'] = NodeKind::object;
  kinds['['] = NodeKind::array;
  kinds['"'] = NodeKind::string;
  kinds['t'] = kinds['f'] = NodeKind::boolean;
  kinds['n'] = NodeKind::null;
  return kinds;
}();

}  // namespace

NodeKind PlainNode::kind_of(char lead) {
  return kKinds[static_cast<unsigned char>(lead)];
}

PlainNode PlainNode::member(std::string_view key) const {
  const auto place = kind_ == NodeKind::object ? skim::member(entry_->places, place_, key) : std::nullopt;
  return place ? PlainNode(*entry_, *place) : PlainNode();
}

bool PlainNode::in_order() const {
  if (kind_ != NodeKind::object) {
    return true;
  }
  std::vector<std::string_view> keys;
  for (json::Places::Cursor members(entry_->places, place_); !members.done(); members.step()) {
    const std::string_view key = members.key();
    const bool is_like_a_number = !key.empty() && key[0] >= '0' && key[0] <= '9';
    if (is_like_a_number || key.find('\\') != std::string_view::npos) {
      return false;
    }
    keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  return std::adjacent_find(keys.begin(), keys.end()) == keys.end();
}

}  // namespace arborfs
