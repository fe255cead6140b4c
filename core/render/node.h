// JSON values as the renderer sees them: one interface over simdjson's DOM, which is fast and strict, and over
// json::Document, which accepts everything that the agents accept. Both give the same answers for the same text, except
// for objects that JSON.parse would reorder: see in_order(). A node is valid as long as the document behind it.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/json/document.h"

namespace arborfs {

enum class NodeKind : std::uint8_t { missing, null, boolean, number, string, array, object };

class FastNode {
 public:
  using Text = std::string_view;

  FastNode() = default;
  explicit FastNode(simdjson::dom::element element) : element_(element), kind_(kind_of(element.type())) {}

  [[nodiscard]] NodeKind kind() const { return kind_; }
  [[nodiscard]] std::string_view text() const { return element_.get_string().value_unsafe(); }
  [[nodiscard]] bool boolean() const { return element_.get_bool().value_unsafe(); }
  [[nodiscard]] double number() const;
  /// The last member of that name, as in JSON.parse; missing if this is not an object.
  [[nodiscard]] FastNode member(std::string_view key) const;
  /// False if JSON.parse might give the members in another order, or fewer of them.
  [[nodiscard]] bool in_order() const;

  /// Visits the elements of an array or an object once.
  class Cursor {
   public:
    explicit Cursor(const FastNode& node);
    [[nodiscard]] bool done() const { return is_object_ ? !(member_ != members_end_) : !(item_ != items_end_); }
    /// The next value; `key` is set for members.
    FastNode next(std::string_view& key);

   private:
    bool is_object_;
    simdjson::dom::object::iterator member_, members_end_;
    simdjson::dom::array::iterator item_, items_end_;
  };

 private:
  static NodeKind kind_of(simdjson::dom::element_type type);
  simdjson::dom::element element_;
  NodeKind kind_ = NodeKind::missing;
};

class SlowNode {
 public:
  using Text = std::string_view;

  SlowNode() = default;
  explicit SlowNode(const json::Value* value) : value_(value) {}

  [[nodiscard]] NodeKind kind() const;
  [[nodiscard]] std::string_view text() const { return json::as_string(*value_); }
  [[nodiscard]] bool boolean() const { return value_->IsTrue(); }
  [[nodiscard]] double number() const { return value_->GetDouble(); }
  [[nodiscard]] SlowNode member(std::string_view key) const {
    return value_ != nullptr ? SlowNode(json::member(*value_, key)) : SlowNode();
  }
  [[nodiscard]] bool in_order() const { return true; }

  class Cursor {
   public:
    explicit Cursor(const SlowNode& node);
    [[nodiscard]] bool done() const { return at_ == size_; }
    SlowNode next(std::string_view& key);

   private:
    const json::Value* value_;
    std::size_t at_ = 0;
    std::size_t size_;
  };

 private:
  const json::Value* value_ = nullptr;
};

}  // namespace arborfs
