// JSON values as the renderer sees them (node.h), over text that is parsed but not decoded: strings stay as they are
// spelled. For sizes.
// A node is valid as long as its PlainEntry and the text.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/json/places.h"
#include "core/render/node.h"
#include "core/render/raw_string.h"

namespace arborfs {

/// An entry's JSON value.
struct PlainEntry {
  const json::Places& places;
  const RawText& spelled;
};

class PlainNode {
 public:
  using Text = RawString;
  using Place = json::Places::Place;

  PlainNode() = default;
  explicit PlainNode(const PlainEntry& entry, Place place = 0)
      : entry_(&entry), place_(place), kind_(kind_of(entry.places.lead(place))) {}

  [[nodiscard]] NodeKind kind() const { return kind_; }
  [[nodiscard]] Text text() const { return {entry_->spelled, entry_->places.string(place_)}; }
  [[nodiscard]] bool boolean() const { return entry_->places.lead(place_) == 't'; }
  [[nodiscard]] double number() const { return entry_->places.number(place_); }
  /// The last member of that name, as in JSON.parse; missing if this is not an object.
  [[nodiscard]] PlainNode member(std::string_view key) const;
  /// False if JSON.parse might give the members in another order, or fewer of them.
  [[nodiscard]] bool in_order() const;

  /// Visits the elements of an array or an object once.
  class Cursor {
   public:
    explicit Cursor(const PlainNode& node)
        : entry_(node.entry_), is_object_(node.kind_ == NodeKind::object), at_(node.entry_->places, node.place_) {}
    [[nodiscard]] bool done() const { return at_.done(); }
    /// The next value; `key` is set for members.
    PlainNode next(Text& key) {
      if (is_object_) {
        key = {entry_->spelled, at_.key()};
      }
      const PlainNode node(*entry_, at_.value());
      at_.step();
      return node;
    }

   private:
    const PlainEntry* entry_;
    bool is_object_;
    json::Places::Cursor at_;
  };

 private:
  static NodeKind kind_of(char lead);

  const PlainEntry* entry_ = nullptr;
  Place place_ = 0;
  NodeKind kind_ = NodeKind::missing;
};

}  // namespace arborfs
