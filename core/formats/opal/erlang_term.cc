#include "core/formats/opal/erlang_term.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/json/document.h"
#include "core/json/utf8.h"

namespace arborfs::opal {
namespace {

constexpr std::size_t kDeepest = 64;
constexpr std::size_t kMostKeys = std::size_t{1} << 16U;  // of one map
constexpr std::size_t kLongestInteger = 256;              // bytes

enum Tag : std::uint8_t {
  kNewFloat = 70,
  kSmallInteger = 97,
  kInteger = 98,
  kAtom = 100,
  kSmallTuple = 104,
  kLargeTuple = 105,
  kNil = 106,
  kString = 107,
  kList = 108,
  kBinary = 109,
  kSmallBig = 110,
  kLargeBig = 111,
  kSmallAtom = 115,
  kMap = 116,
  kAtomUtf8 = 118,
  kSmallAtomUtf8 = 119,
};

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}
  [[nodiscard]] bool is_empty() const { return left_.empty(); }
  [[nodiscard]] std::size_t size() const { return left_.size(); }
  /// A big-endian number.
  std::optional<std::uint64_t> number(std::size_t width) {
    const auto bytes = take(width);
    if (!bytes) {
      return std::nullopt;
    }
    std::uint64_t value = 0;
    for (const char byte : *bytes) {
      value = (value << 8U) | static_cast<unsigned char>(byte);
    }
    return value;
  }
  std::optional<std::string_view> take(std::uint64_t count) {
    if (count > left_.size()) {
      return std::nullopt;
    }
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  /// Bytes preceded by their length, which is `width` bytes long.
  std::optional<std::string_view> counted(std::size_t width) {
    const auto count = number(width);
    return count ? take(*count) : std::nullopt;
  }

 private:
  std::string_view left_;
};

/// Latin-1 as UTF-8.
std::string from_latin1(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x80) {
      text += byte;
    } else {
      text += static_cast<char>(0xC0U | (code >> 6U));
      text += static_cast<char>(0x80U | (code & 0x3FU));
    }
  }
  return text;
}

/// The decimal digits of a little-endian number.
std::string digits_of(std::string_view magnitude) {
  std::vector<std::uint32_t> number(magnitude.rbegin(), magnitude.rend());
  for (std::uint32_t& byte : number) {
    byte &= 0xFFU;
  }
  std::string digits;
  while (!number.empty()) {
    std::uint32_t rest = 0;
    for (std::uint32_t& byte : number) {
      const std::uint32_t value = rest * 256 + byte;
      byte = value / 10;
      rest = value % 10;
    }
    digits += static_cast<char>('0' + rest);
    const auto first = std::find_if(number.begin(), number.end(), [](std::uint32_t byte) { return byte != 0; });
    number.erase(number.begin(), first);
  }
  return digits.empty() ? "0" : std::string(digits.rbegin(), digits.rend());
}

/// A list, tuple or map whose end has not been read.
struct Open {
  enum class Kind : std::uint8_t { list, tuple, map };
  struct Member {
    std::string key;
    std::size_t from = 0;  // of the value in the JSON text
    std::size_t to = 0;
  };
  Kind kind = Kind::list;
  std::uint64_t left = 0;  // terms to come: of a map keys and values, of a list also its tail
  std::size_t begin = 0;   // of the JSON text after the bracket
  std::string key = {};    // of a map: of the value that is being read
  std::vector<Member> members = {};
};

class Translation {
 public:
  Translation(std::string_view bytes, std::string& json) : bytes_(bytes), json_(json) {}

  bool run() {
    do {
      if (!is_list_end() && !term()) {
        return false;
      }
      while (!open_.empty() && open_.back().left == 0) {
        close();
      }
    } while (!open_.empty());
    return bytes_.is_empty();
  }

 private:
  /// Takes the empty list that ends a proper list; any other tail becomes its last element.
  bool is_list_end() {
    if (open_.empty() || open_.back().kind != Open::Kind::list || open_.back().left != 1) {
      return false;
    }
    Bytes ahead = bytes_;
    const auto tag = ahead.number(1);
    if (!tag || *tag != kNil) {
      return false;
    }
    bytes_ = ahead;
    --open_.back().left;
    return true;
  }

  bool term() {
    const auto tag = bytes_.number(1);
    if (!tag) {
      return false;
    }
    const bool is_key = !open_.empty() && open_.back().kind == Open::Kind::map && open_.back().left % 2 == 0;
    if (is_key) {
      return take_key(*tag);
    }
    begin_value();
    switch (*tag) {
      case kSmallTuple:
        return begin(Open::Kind::tuple, bytes_.number(1));
      case kLargeTuple:
        return begin(Open::Kind::tuple, bytes_.number(4));
      case kList:
        return begin(Open::Kind::list, bytes_.number(4));
      case kMap:
        return begin(Open::Kind::map, bytes_.number(4));
      case kNil:
        json_ += "[]";
        break;
      case kString:
        if (!put_bytes()) {
          return false;
        }
        break;
      default:
        if (!put_scalar(*tag)) {
          return false;
        }
    }
    end_value();
    return true;
  }

  void begin_value() {
    if (!open_.empty() && open_.back().kind != Open::Kind::map && json_.size() > open_.back().begin) {
      json_ += ',';
    }
    value_ = json_.size();
  }

  /// A value inside `open_.back()` is complete.
  void end_value() {
    if (open_.empty()) {
      return;
    }
    Open& within = open_.back();
    --within.left;
    if (within.kind == Open::Kind::map) {
      within.members.push_back({std::move(within.key), value_, json_.size()});
    }
  }

  bool begin(Open::Kind kind, std::optional<std::uint64_t> count) {
    if (!count || open_.size() >= kDeepest || *count > bytes_.size() ||
        (kind == Open::Kind::map && *count > kMostKeys)) {
      return false;
    }
    const bool is_map = kind == Open::Kind::map;
    json_ += is_map ? '{' : '[';
    const std::uint64_t terms = is_map ? *count * 2 : *count + (kind == Open::Kind::list ? 1 : 0);
    open_.push_back({kind, terms, json_.size()});
    return true;
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (done.kind == Open::Kind::map) {
      put_members(done);
    }
    json_ += done.kind == Open::Kind::map ? '}' : ']';
    value_ = done.begin - 1;
    end_value();
  }

  void put_members(Open& map) {
    std::sort(map.members.begin(), map.members.end(),
              [](const Open::Member& a, const Open::Member& b) { return a.key < b.key; });
    std::string text;
    text.reserve(json_.size() - map.begin);
    for (const Open::Member& member : map.members) {
      text += text.empty() ? "" : ",";
      json::stringify_string(member.key, text);
      text += ':';
      text.append(json_, member.from, member.to - member.from);
    }
    json_.replace(map.begin, std::string::npos, text);
  }

  /// Opal's encoder accepts atoms, binaries and numbers as keys.
  bool take_key(std::uint64_t tag) {
    Open& map = open_.back();
    --map.left;
    if (auto text = text_of(tag)) {
      map.key = *std::move(text);
      return true;
    }
    if (auto digits = number_of(tag)) {
      map.key = *std::move(digits);
      return true;
    }
    return false;
  }

  bool put_scalar(std::uint64_t tag) {
    const bool is_binary = tag == kBinary;
    if (const auto text = text_of(tag)) {
      if (!is_binary && *text == "nil") {
        json_ += "null";
      } else if (!is_binary && (*text == "true" || *text == "false")) {
        json_ += *text;
      } else {
        json::stringify_string(*text, json_);
      }
      return true;
    }
    const auto number = number_of(tag);
    json_ += number.value_or("");
    return number.has_value();
  }

  /// A list of small integers.
  bool put_bytes() {
    const auto bytes = bytes_.counted(2);
    if (!bytes) {
      return false;
    }
    json_ += '[';
    for (const char byte : *bytes) {
      json_ += json_.back() == '[' ? "" : ",";
      json_ += std::to_string(static_cast<unsigned char>(byte));
    }
    json_ += ']';
    return true;
  }

  /// The text of an atom or a binary.
  std::optional<std::string> text_of(std::uint64_t tag) {
    const bool is_latin1 = tag == kAtom || tag == kSmallAtom;
    const bool is_small = tag == kSmallAtom || tag == kSmallAtomUtf8;
    if (!is_latin1 && !is_small && tag != kAtomUtf8 && tag != kBinary) {
      return std::nullopt;
    }
    const auto bytes = bytes_.counted(tag == kBinary ? 4 : is_small ? 1 : 2);
    if (!bytes) {
      return std::nullopt;
    }
    return is_latin1 ? from_latin1(*bytes) : json::decode_utf8(*bytes);
  }

  std::optional<std::string> number_of(std::uint64_t tag) {
    switch (tag) {
      case kSmallInteger: {
        const auto value = bytes_.number(1);
        return value ? std::optional(std::to_string(*value)) : std::nullopt;
      }
      case kInteger: {
        const auto value = bytes_.number(4);
        return value ? std::optional(std::to_string(static_cast<std::int32_t>(*value))) : std::nullopt;
      }
      case kNewFloat: {
        const auto bits = bytes_.number(8);
        const double value = std::bit_cast<double>(bits.value_or(0));
        return bits && std::isfinite(value) ? std::optional(json::number_text(value)) : std::nullopt;
      }
      case kSmallBig:
        return big(bytes_.number(1));
      case kLargeBig:
        return big(bytes_.number(4));
      default:
        return std::nullopt;
    }
  }

  std::optional<std::string> big(std::optional<std::uint64_t> count) {
    const auto sign = bytes_.number(1);
    const auto magnitude = count && *count <= kLongestInteger ? bytes_.take(*count) : std::nullopt;
    if (!sign || !magnitude) {
      return std::nullopt;
    }
    return (*sign == 0 ? "" : "-") + digits_of(*magnitude);
  }

  Bytes bytes_;
  std::string& json_;
  std::size_t value_ = 0;  // where the value that ends next begins
  std::vector<Open> open_;
};

}  // namespace

bool append_term(std::string_view bytes, std::string& json) {
  return Translation(bytes, json).run();
}

}  // namespace arborfs::opal
