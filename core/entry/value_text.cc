#include "core/entry/value_text.h"

namespace arborfs {

NodeKind FastNode::kind_of(simdjson::dom::element_type type) {
  using Type = simdjson::dom::element_type;
  switch (type) {
    case Type::ARRAY:
      return NodeKind::array;
    case Type::OBJECT:
      return NodeKind::object;
    case Type::STRING:
      return NodeKind::string;
    case Type::BOOL:
      return NodeKind::boolean;
    case Type::NULL_VALUE:
      return NodeKind::null;
    default:
      return NodeKind::number;
  }
}

double FastNode::number() const {
  switch (element_.type()) {
    case simdjson::dom::element_type::INT64:
      return static_cast<double>(element_.get_int64().value_unsafe());
    case simdjson::dom::element_type::UINT64:
      return static_cast<double>(element_.get_uint64().value_unsafe());
    default:
      return element_.get_double().value_unsafe();
  }
}

FastNode FastNode::member(std::string_view key) const {
  FastNode found;
  if (kind_ != NodeKind::object) {
    return found;
  }
  const simdjson::dom::object object = element_.get_object().value_unsafe();
  const auto end = object.end();
  for (auto field = object.begin(); field != end; ++field) {
    if (field.key_equals(key)) {
      found = FastNode(field.value());
    }
  }
  return found;
}

bool FastNode::in_order() const {
  if (kind_ != NodeKind::object) {
    return true;
  }
  std::vector<std::string_view> keys;
  const simdjson::dom::object object = element_.get_object().value_unsafe();
  for (const auto& field : object) {
    if (!field.key.empty() && field.key[0] >= '0' && field.key[0] <= '9') {
      return false;
    }
    keys.push_back(field.key);
  }
  std::sort(keys.begin(), keys.end());
  return std::adjacent_find(keys.begin(), keys.end()) == keys.end();
}

FastNode::Cursor::Cursor(const FastNode& node) : is_object_(node.kind() == NodeKind::object) {
  if (is_object_) {
    const simdjson::dom::object object = node.element_.get_object().value_unsafe();
    member_ = object.begin();
    members_end_ = object.end();
  } else {
    const simdjson::dom::array array = node.element_.get_array().value_unsafe();
    item_ = array.begin();
    items_end_ = array.end();
  }
}

FastNode FastNode::Cursor::next(std::string_view& key) {
  if (is_object_) {
    key = member_.key();
    const FastNode node(member_.value());
    ++member_;
    return node;
  }
  const FastNode node(*item_);
  ++item_;
  return node;
}

NodeKind SlowNode::kind() const {
  if (value_ == nullptr) {
    return NodeKind::missing;
  }
  switch (value_->GetType()) {
    case rapidjson::kNullType:
      return NodeKind::null;
    case rapidjson::kFalseType:
    case rapidjson::kTrueType:
      return NodeKind::boolean;
    case rapidjson::kObjectType:
      return NodeKind::object;
    case rapidjson::kArrayType:
      return NodeKind::array;
    case rapidjson::kStringType:
      return NodeKind::string;
    default:
      return NodeKind::number;
  }
}

SlowNode::Cursor::Cursor(const SlowNode& node)
    : value_(node.value_), size_(value_->IsObject() ? value_->MemberCount() : value_->Size()) {}

SlowNode SlowNode::Cursor::next(std::string_view& key) {
  const auto index = static_cast<rapidjson::SizeType>(at_++);
  if (value_->IsObject()) {
    const auto member = value_->MemberBegin() + index;
    key = json::as_string(member->name);
    return SlowNode(&member->value);
  }
  return SlowNode(&(*value_)[index]);
}

}  // namespace arborfs
