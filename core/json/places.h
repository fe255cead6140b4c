// JSON text taken apart where it stands: the places where its values start and end, found by simdjson's first stage;
// one walk over them checks the grammar. Nothing is copied or converted. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/json/number.h"
#include "core/json/text_bytes.h"

namespace arborfs::json {

class Places {
 public:
  Places();
  ~Places();
  Places(Places&&) noexcept;
  Places& operator=(Places&&) noexcept;

  /// Bytes that must be readable behind every text, of any value.
  static constexpr std::size_t kPadding = 64;
  static constexpr unsigned kMaxDepth = 64;

  /// A bracket, comma or colon outside strings, the opening quote of a string, the start of another value; counted from
  /// 0, which is where the text starts.
  using Place = std::uint32_t;

  /// True when `text`, which must start with { or [ and end with its last byte that is no white space, is one value by
  /// the strictest reading, nested at most kMaxDepth deep, but for the escapes in its strings, which are not looked at
  /// (escapes.h). False tells nothing about it. `text` must stay; the rest is for what was found so.
  bool find(std::string_view text);

  [[nodiscard]] char lead(Place place) const { return text_[offset(place)]; }
  [[nodiscard]] std::uint32_t offset(Place place) const { return offsets_[place]; }
  /// The place behind the value that starts at `place`.
  [[nodiscard]] Place behind(Place place) const { return behind_[place]; }
  /// What stands between the quotes of the string that starts at `place`.
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
  /// Of the number that starts at `place`, as JavaScript reads it.
  [[nodiscard]] double number(Place place) const { return number_value(scalar(place)); }

  /// Goes through the members of the object, or the elements of the array, that starts at `container`.
  class Cursor {
   public:
    Cursor(const Places& places, Place container)
        : places_(&places),
          at_(container + 1),
          end_(places.behind(container) - 1),
          is_object_(places.lead(container) == '{') {}
    [[nodiscard]] bool done() const { return at_ >= end_; }
    /// Of members only.
    [[nodiscard]] std::string_view key() const { return places_->string(at_); }
    /// False when the key is not `name` by its first byte already; `name` is not empty.
    [[nodiscard]] bool key_may_be(std::string_view name) const {
      const char first = places_->text_[places_->offset(at_) + 1];
      return first == name[0] || first == '\\';
    }
    [[nodiscard]] Place value() const { return is_object_ ? at_ + 2 : at_; }
    void step() { at_ = places_->behind(value()) + 1; }

   private:
    const Places* places_;
    Place at_;
    Place end_;  // its closing bracket
    bool is_object_;
  };

 private:
  struct Parser;  // simdjson's, whose header takes a second to compile

  bool make_room(std::size_t length);

  const char* text_ = nullptr;
  const Place* offsets_ = nullptr;  // of parser_
  std::unique_ptr<Parser> parser_;
  std::vector<Place> behind_;  // of the places where values start
};

}  // namespace arborfs::json
