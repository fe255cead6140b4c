// An index of the places in a JSON text where values start and end. simdjson's first stage finds them, and one walk
// over them checks the grammar. Nothing is copied or converted. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/json/json_cursor.h"
#include "core/json/text_bytes.h"

namespace arborfs::json {

class Places {
 public:
  Places();
  ~Places();
  Places(Places&&) noexcept;
  Places& operator=(Places&&) noexcept;

  /// Bytes that must be readable after every text; their values do not matter.
  static constexpr std::size_t kPadding = 64;
  static constexpr unsigned kMaxDepth = 64;

  /// The number of a place: a bracket, comma or colon outside strings, the opening quote of a string, or the start of
  /// another scalar. Place 0 is the start of the text.
  using Place = std::uint32_t;

  /// True if `text` is one value by the strictest reading, nested at most kMaxDepth deep. Does not check the escapes in
  /// strings (has_valid_escapes). False says nothing about `text`. `text` must start with { or [, must not end with
  /// white space, and must outlive the use of this object. Call the other members only after find() returned true.
  bool find(std::string_view text);

  [[nodiscard]] char lead(Place place) const { return text_[offset(place)]; }
  [[nodiscard]] std::uint32_t offset(Place place) const { return offsets_[place]; }
  /// The place after the value that starts at `place`.
  [[nodiscard]] Place behind(Place place) const { return behind_[place]; }
  /// The raw text between the quotes of the string that starts at `place`.
  [[nodiscard]] std::string_view string(Place place) const {
    std::uint32_t end = offset(place + 1) - 1;
    while (text_[end] != '"') {  // white space
      --end;
    }
    return {text_ + offset(place) + 1, end - offset(place) - 1};
  }
  /// The text of the number, true, false or null that starts at `place`.
  [[nodiscard]] std::string_view scalar(Place place) const {
    std::uint32_t end = offset(place + 1);
    while (is_space(text_[end - 1])) {
      --end;
    }
    return {text_ + offset(place), end - offset(place)};
  }

  /// Iterates over the members of the object, or the elements of the array, that starts at `container`.
  class Cursor {
   public:
    Cursor(const Places& places, Place container)
        : places_(&places),
          at_(container + 1),
          end_(places.behind(container) - 1),
          is_object_(places.lead(container) == '{') {}
    [[nodiscard]] bool done() const { return at_ >= end_; }
    /// Only for objects.
    [[nodiscard]] std::string_view key() const { return places_->string(at_); }
    [[nodiscard]] Place value() const { return is_object_ ? at_ + 2 : at_; }
    void step() { at_ = places_->behind(value()) + 1; }

   private:
    const Places* places_;
    Place at_;
    Place end_;  // the container's closing bracket
    bool is_object_;
  };

 private:
  struct Parser;  // hides simdjson.h, which takes a second to compile

  bool make_room(std::size_t length);

  const char* text_ = nullptr;
  const Place* offsets_ = nullptr;  // owned by parser_
  std::unique_ptr<Parser> parser_;
  std::vector<Place> behind_;  // see behind(); set only for places where values start
};

/// A JSON value, from any valid JSON text. PlacedValue, which is fast, gives the same answers through Places.
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
