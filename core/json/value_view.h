// A JSON value by two ways of reading it: through json::Places, which is fast, or from any valid JSON text. Both give
// the same answers. Used by one thread.
#pragma once

#include <string_view>

#include "core/json/json_cursor.h"
#include "core/json/places.h"

namespace arborfs::json {

class TextValue {
 public:
  explicit TextValue(std::string_view text = {}) : text_(text) {}
  [[nodiscard]] char lead() const { return text_.empty() ? '\0' : text_.front(); }
  /// Of a string: its raw text, quotes included.
  [[nodiscard]] std::string_view literal() const { return text_; }
  /// The text of the value, whatever it is; "" if there is none.
  [[nodiscard]] std::string_view raw() const { return text_; }
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
  [[nodiscard]] std::string_view raw() const {
    const char first = lead();
    if (first == '"') {
      return literal();
    }
    if (first != '{' && first != '[') {
      return first == '\0' ? std::string_view() : places_->scalar(place_);
    }
    const std::size_t size = places_->offset(places_->behind(place_) - 1) + 1 - places_->offset(place_);
    return {places_->scalar(place_).data(), size};
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

}  // namespace arborfs::json
