// A JSON value of a row, by two ways of reading it: through json::Places, which is fast, or from any valid JSON text.
// Both give the same answers. Internal to core/formats/claude.
#pragma once

#include <string_view>

#include "core/json/json_cursor.h"
#include "core/json/places.h"

namespace arborfs::claude {

class TextValue {
 public:
  explicit TextValue(std::string_view text = {}) : text_(text) {}
  [[nodiscard]] char lead() const { return text_.empty() ? '\0' : text_.front(); }
  /// Of a string: its raw text, quotes included.
  [[nodiscard]] std::string_view literal() const { return text_; }
  /// Calls visit(raw key, value) for each member of an object, visit("", value) for each element of an array.
  template <class Visit>
  void each(const Visit& visit) const {
    for (skim::Cursor cursor(text_); cursor.next();) {
      visit(cursor.key(), TextValue(cursor.value()));
    }
  }

 private:
  std::string_view text_;
};

class PlacedValue {
 public:
  PlacedValue() = default;
  PlacedValue(const json::Places& places, json::Places::Place place) : places_(&places), place_(place) {}
  [[nodiscard]] char lead() const { return places_ == nullptr ? '\0' : places_->lead(place_); }
  [[nodiscard]] std::string_view literal() const {
    const std::string_view inside = places_->string(place_);
    return {inside.data() - 1, inside.size() + 2};
  }
  template <class Visit>
  void each(const Visit& visit) const {
    const bool is_object = lead() == '{';
    if (!is_object && lead() != '[') {
      return;
    }
    for (json::Places::Cursor cursor(*places_, place_); !cursor.done(); cursor.step()) {
      visit(is_object ? cursor.key() : std::string_view(), PlacedValue(*places_, cursor.value()));
    }
  }

 private:
  const json::Places* places_ = nullptr;
  json::Places::Place place_ = 0;
};

}  // namespace arborfs::claude
