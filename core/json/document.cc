#include "core/json/document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <system_error>
#include <vector>

#include "core/json/text_bytes.h"
#include "core/json/utf8.h"

namespace arborfs::json {
namespace {

/// Visits a JSON value in document order without recursing. For each value, calls `scalar(value)` on `visitor`, or
/// `begin(value)` and, after its content, `end(value)`. Before each member's value calls `key(name, index)`, before
/// each array element `element(index)`.
template <class Visitor>
void walk(const Value& root, Visitor& visitor) {
  struct Open {
    const Value* container;
    rapidjson::SizeType next;
  };
  std::vector<Open> open;
  const Value* value = &root;
  for (;;) {
    if (value->IsObject() || value->IsArray()) {
      visitor.begin(*value);
      open.push_back({value, 0});
    } else {
      visitor.scalar(*value);
    }
    value = nullptr;
    while (value == nullptr) {
      if (open.empty()) {
        return;
      }
      auto& [container, next] = open.back();
      const bool is_object = container->IsObject();
      if (next == (is_object ? container->MemberCount() : container->Size())) {
        visitor.end(*container);
        open.pop_back();
      } else if (is_object) {
        const auto entry = container->MemberBegin() + static_cast<std::ptrdiff_t>(next);
        visitor.key(entry->name, next++);
        value = &entry->value;
      } else {
        visitor.element(next);
        value = container->Begin() + next++;
      }
    }
  }
}

rapidjson::SizeType size_of(std::string_view text) {
  return static_cast<rapidjson::SizeType>(text.size());
}

// A visitor for walk() that rebuilds the value through the events of a Document that shares the owner's pool.
class Copier {
 public:
  explicit Copier(Document& out) : out_(out) {}

  void scalar(const Value& value) {
    if (value.IsString()) {
      out_.String(value.GetString(), value.GetStringLength(), true);
    } else if (value.IsNumber()) {
      out_.Double(value.GetDouble());
    } else if (value.IsNull()) {
      out_.Null();
    } else {
      out_.Bool(value.GetBool());
    }
  }
  void begin(const Value& value) { value.IsObject() ? out_.StartObject() : out_.StartArray(); }
  void end(const Value& value) { value.IsObject() ? out_.EndObject(value.MemberCount()) : out_.EndArray(value.Size()); }
  void key(const Value& name, rapidjson::SizeType /*index*/) {
    out_.Key(name.GetString(), name.GetStringLength(), true);
  }
  void element(rapidjson::SizeType /*index*/) {}

 private:
  Document& out_;
};

const char* skip_digits(const char* p, const char* end) {
  while (p != end && is_digit(*p)) {
    ++p;
  }
  return p;
}

// For a number outside the range of doubles: true if it is too large, false if it is too small. `magnitude` is the
// power of ten of the first nonzero digit, without the exponent.
bool is_huge(std::string_view number) {
  const std::size_t e = number.find_first_of("eE");
  const std::string_view mantissa = number.substr(0, e);
  std::int64_t exponent = 0;
  if (e != std::string_view::npos) {
    const std::string_view digits = number.substr(e + (number[e + 1] == '+' ? 2 : 1));
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc()) {
      return digits.front() != '-';
    }
  }
  const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  const auto first = static_cast<std::int64_t>(mantissa.find_first_of("123456789"));
  const std::int64_t magnitude = first < point ? point - first - 1 : point - first;
  return exponent > -magnitude;
}

std::string_view without_point(std::string_view mantissa, std::array<char, 32>& space) {
  std::size_t length = 0;
  for (const char c : mantissa) {
    if (c != '.') {
      space[length++] = c;
    }
  }
  return {space.data(), length};
}

// ECMAScript Number::toString of d.ddd... times ten to the power of `exponent`.
std::string layout(std::string_view digits, int exponent) {
  const int count = static_cast<int>(digits.size());
  std::string out;
  if (exponent >= 21 || exponent < -6) {
    out.append(digits, 0, 1);
    if (count > 1) {
      out.append(1, '.').append(digits, 1);
    }
    return out.append(exponent < 0 ? "e-" : "e+").append(std::to_string(std::abs(exponent)));
  }
  if (exponent < 0) {
    return out.append("0.").append(static_cast<std::size_t>(-exponent - 1), '0').append(digits);
  }
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (whole >= digits.size()) {
    return out.append(digits).append(whole - digits.size(), '0');
  }
  return out.append(digits, 0, whole).append(1, '.').append(digits, whole);
}

bool indices_lead(std::span<const std::string_view> keys) {
  std::int64_t last = -1;
  for (const std::string_view key : keys) {
    const auto index = array_index(key);
    if (index && *index < last) {
      return false;
    }
    last = index ? std::int64_t{*index} : std::numeric_limits<std::int64_t>::max();
  }
  return true;
}

bool all_differ(std::span<const std::string_view> keys) {
  constexpr std::size_t kFew = 16;
  if (keys.size() > kFew) {
    std::vector<std::string_view> sorted(keys.begin(), keys.end());
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  }
  for (std::size_t i = 1; i < keys.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (keys[i] == keys[k]) {
        return false;
      }
    }
  }
  return true;
}

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr char kFirstOfSurrogates = '\xED';  // also of a few other characters

void append_unit_escape(char32_t unit, std::string& out) {
  const std::array<char, 6> escape = {'\\',
                                      'u',
                                      kHexDigits[unit >> 12 & 15],
                                      kHexDigits[unit >> 8 & 15],
                                      kHexDigits[unit >> 4 & 15],
                                      kHexDigits[unit & 15]};
  out.append(escape.data(), escape.size());
}

/// The letter of the short escape of each byte; 0 if it has none.
constexpr auto kShortEscapes = [] {
  constexpr std::string_view kSpecials = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  std::array<char, 256> letters{};
  for (std::size_t i = 0; i < kSpecials.size(); ++i) {
    letters[static_cast<unsigned char>(kSpecials[i])] = kLetters[i];
  }
  return letters;
}();

void append_escape(char c, std::string& out) {
  const auto byte = static_cast<unsigned char>(c);
  if (const char letter = kShortEscapes[byte]; letter != 0) {
    const std::array<char, 2> escape = {'\\', letter};
    out.append(escape.data(), escape.size());
  } else {
    append_unit_escape(byte, out);
  }
}

// Appends text that has no quotes, backslashes or control characters; escapes lone surrogates.
void append_run(const char* p, const char* end, std::string& out) {
  while (p != end) {
    const auto* hit = static_cast<const char*>(std::memchr(p, kFirstOfSurrogates, static_cast<std::size_t>(end - p)));
    while (hit != nullptr && !is_surrogate_form(hit, end)) {
      hit = static_cast<const char*>(std::memchr(hit + 1, kFirstOfSurrogates, static_cast<std::size_t>(end - hit - 1)));
    }
    if (hit == nullptr) {
      out.append(p, end);
      return;
    }
    out.append(p, hit);
    const auto byte = [hit](int i) { return static_cast<char32_t>(static_cast<unsigned char>(hit[i])); };
    append_unit_escape(0xD000 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), out);
    p = hit + 3;
  }
}

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void scalar(const Value& value) {
    if (value.IsString()) {
      stringify_string(as_string(value), out_);
    } else if (value.IsNumber()) {
      out_ += number_text(value.GetDouble());
    } else {
      out_ += value.IsNull() ? "null" : value.IsTrue() ? "true" : "false";
    }
  }
  void begin(const Value& value) { out_ += value.IsObject() ? '{' : '['; }
  void end(const Value& value) { out_ += value.IsObject() ? '}' : ']'; }
  void key(const Value& name, rapidjson::SizeType index) {
    element(index);
    stringify_string(as_string(name), out_);
    out_ += ':';
  }
  void element(rapidjson::SizeType index) {
    if (index > 0) {
      out_ += ',';
    }
  }

 private:
  std::string& out_;
};

// The four lower-case hex digits at `p`, or -1.
int lower_hex4(const char* p, const char* end) {
  if (end - p < 4) {
    return -1;
  }
  int unit = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_value(p[i]);
    if (digit < 0 || (p[i] >= 'A' && p[i] <= 'F')) {
      return -1;
    }
    unit = unit * 16 + digit;
  }
  return unit;
}

// `p` is just after "\u". JSON.stringify writes such escapes only for lone surrogates and for control characters that
// have no short escape.
bool is_canonical_unit(const char* p, const char* end) {
  const int unit = lower_hex4(p, end);
  if (unit < 0) {
    return false;
  }
  const auto c = static_cast<char32_t>(unit);
  if (is_high_surrogate(c)) {
    const bool escape_follows = end - p >= 6 && p[4] == '\\' && p[5] == 'u';
    return !escape_follows || !is_low_surrogate(static_cast<char32_t>(lower_hex4(p + 6, end)));
  }
  return is_low_surrogate(c) || (c < 0x20 && c != '\b' && c != '\t' && c != '\n' && c != '\f' && c != '\r');
}

class Checker {
 public:
  explicit Checker(std::string_view text) : p_(text.data()), end_(p_ + text.size()) {}

  bool run() {
    while (p_ != end_) {
      const char c = *p_;
      if (c == '"') {
        if (!string()) {
          return false;
        }
      } else if (c == '-' || is_digit(c)) {
        if (!number()) {
          return false;
        }
      } else if (is_space(c) || (c == '}' && !end_of_object())) {
        return false;
      } else {
        if (c == '{') {
          open_.push_back(keys_.size());
        }
        ++p_;
      }
    }
    return true;
  }

 private:
  bool string() {
    const char* const content = ++p_;
    for (;;) {
      p_ = find_string_special(p_, end_);
      if (end_ - p_ < 2 || *p_ == '"') {
        break;
      }
      switch (p_[1]) {
        case 'n':
        case '"':
        case '\\':
        case 't':
        case 'r':
        case 'b':
        case 'f':
          p_ += 2;
          break;
        case 'u':
          if (!is_canonical_unit(p_ + 2, end_)) {
            return false;
          }
          p_ += 6;
          break;
        default:
          return false;
      }
    }
    if (p_ == end_ || *p_ != '"') {
      return false;
    }
    const std::string_view text(content, static_cast<std::size_t>(p_++ - content));
    if (p_ != end_ && *p_ == ':') {
      keys_.push_back(text);
    }
    return true;
  }

  bool number() {
    constexpr std::ptrdiff_t kExactDigits = 15;
    const char* const begin = p_;
    p_ += *p_ == '-';
    const char* const digits = p_;
    while (p_ != end_ && is_digit(*p_)) {
      ++p_;
    }
    const bool is_integer = p_ == end_ || (*p_ != '.' && *p_ != 'e' && *p_ != 'E');
    if (is_integer && p_ != digits && p_ - digits <= kExactDigits && (*digits != '0' || p_ - begin == 1)) {
      return true;
    }
    p_ = skip_number(begin, end_);
    if (p_ == nullptr) {
      return false;
    }
    const std::string_view text(begin, static_cast<std::size_t>(p_ - begin));
    return number_text(number_value(text)) == text;
  }

  bool end_of_object() {
    if (open_.empty()) {
      return false;
    }
    const std::size_t first = open_.back();
    open_.pop_back();
    const bool ordered = keys_in_order(std::span(keys_).subspan(first));
    keys_.resize(first);
    return ordered;
  }

  const char* p_;
  const char* end_;
  std::vector<std::size_t> open_;       // for each open object, where its keys start in keys_
  std::vector<std::string_view> keys_;  // of all open objects
};

}  // namespace

const Value* member(const Value& value, std::string_view key) {
  if (value.IsObject()) {
    for (const auto& entry : members(value)) {
      if (as_string(entry.name) == key) {
        return &entry.value;
      }
    }
  }
  return nullptr;
}

Value* member(Value& value, std::string_view key) {
  return const_cast<Value*>(member(static_cast<const Value&>(value), key));
}

std::string_view as_string(const Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

std::optional<std::string_view> string_member(const Value& value, std::string_view key) {
  const Value* found = member(value, key);
  return found != nullptr && found->IsString() ? std::optional(as_string(*found)) : std::nullopt;
}

std::optional<double> number_member(const Value& value, std::string_view key) {
  const Value* const number = member(value, key);
  return number != nullptr && number->IsNumber() ? std::optional(number->GetDouble()) : std::nullopt;
}

std::string text_member(const Value& value, std::string_view key) {
  return std::string(string_member(value, key).value_or(""));
}

bool is_string(const Value* value, std::string_view text) {
  return value != nullptr && value->IsString() && as_string(*value) == text;
}

std::span<const Value::Member> members(const Value& object) {
  return {object.MemberBegin().operator->(), object.MemberCount()};
}

std::span<Value::Member> members(Value& object) {
  return {object.MemberBegin().operator->(), object.MemberCount()};
}

bool is_truthy(const Value* value) {
  if (value == nullptr || value->IsNull() || value->IsFalse()) {
    return false;
  }
  if (value->IsNumber()) {
    const double number = value->GetDouble();
    return number < 0 || number > 0;
  }
  return !value->IsString() || value->GetStringLength() > 0;
}

Value make_string(std::string_view text, Document& owner) {
  return text.empty() ? Value("", 0) : Value(text.data(), size_of(text), owner.GetAllocator());
}

void set(Value& object, std::string_view key, Value value, Document& owner) {
  if (Value* found = member(object, key); found != nullptr) {
    *found = std::move(value);
  } else {
    object.AddMember(make_string(key, owner), std::move(value), owner.GetAllocator());
  }
}

bool erase(Value& object, std::string_view key) {
  const auto entries = members(object);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (as_string(entries[i].name) == key) {
      object.EraseMember(object.MemberBegin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
  }
  return false;
}

Value copy(const Value& value, Document& owner) {
  Document built(&owner.GetAllocator());
  auto generate = [&value](Document& out) {
    Copier copier(out);
    walk(value, copier);
    return true;
  };
  built.Populate(generate);
  return std::move(static_cast<Value&>(built));
}

const char* skip_number(const char* p, const char* end) {
  const auto starts_digits = [end](const char* q) { return q != end && is_digit(*q); };
  if (p != end && *p == '-') {
    ++p;
  }
  if (!starts_digits(p)) {
    return nullptr;
  }
  p = *p == '0' ? p + 1 : skip_digits(p, end);
  if (p != end && *p == '.') {
    if (!starts_digits(p + 1)) {
      return nullptr;
    }
    p = skip_digits(p + 1, end);
  }
  if (p != end && (*p == 'e' || *p == 'E')) {
    const char* digits = p + 1;
    if (digits != end && (*digits == '+' || *digits == '-')) {
      ++digits;
    }
    if (!starts_digits(digits)) {
      return nullptr;
    }
    p = skip_digits(digits, end);
  }
  return p;
}

double number_value(std::string_view number) {
  double value = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), value).ec == std::errc::result_out_of_range) {
    value = is_huge(number) ? std::numeric_limits<double>::infinity() : 0.0;
    return number.front() == '-' ? -value : value;
  }
  return value;
}

std::string number_text(double number) {
  constexpr double kExactIntegers = 9007199254740992.0;
  std::array<char, 32> text;
  if (!std::isfinite(number)) {
    return "null";
  }
  if (std::abs(number) < kExactIntegers && std::trunc(number) == number) {
    const auto end = std::to_chars(text.data(), text.data() + text.size(), static_cast<std::int64_t>(number)).ptr;
    return {text.data(), end};
  }
  const char* end =
      std::to_chars(text.data(), text.data() + text.size(), std::abs(number), std::chars_format::scientific).ptr;
  const std::string_view scientific(text.data(), static_cast<std::size_t>(end - text.data()));
  const std::size_t e = scientific.find('e');
  int exponent = 0;
  std::from_chars(scientific.data() + e + (scientific[e + 1] == '+' ? 2 : 1), end, exponent);
  std::array<char, 32> digits;
  const std::string laid_out = layout(without_point(scientific.substr(0, e), digits), exponent);
  return number < 0 ? "-" + laid_out : laid_out;
}

std::optional<std::uint32_t> array_index(std::string_view key) {
  if (key.empty() || key.size() > 10 || key[0] < '0' || key[0] > '9' || (key[0] == '0' && key.size() > 1)) {
    return std::nullopt;
  }
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  if (error != std::errc() || end != key.data() + key.size() || index == std::numeric_limits<std::uint32_t>::max()) {
    return std::nullopt;
  }
  return index;
}

bool keys_in_order(std::span<const std::string_view> keys) {
  return indices_lead(keys) && all_differ(keys);
}

void stringify_string(std::string_view text, std::string& out) {
  constexpr std::size_t kShort = 64;
  if (text.size() <= kShort && is_plain_string(text)) {
    ((out += '"') += text) += '"';
    return;
  }
  const bool is_utf8 = is_valid_utf8(text);
  const std::string decoded = is_utf8 ? std::string() : decode_wtf8(text);
  const std::string_view wtf8 = is_utf8 ? text : decoded;
  const char* p = wtf8.data();
  const char* const end = p + wtf8.size();
  out.push_back('"');
  for (;;) {
    const char* special = find_string_special(p, end);
    if (is_utf8) {
      out.append(p, static_cast<std::size_t>(special - p));
    } else {
      append_run(p, special, out);
    }
    if (special == end) {
      break;
    }
    append_escape(*special, out);
    p = special + 1;
  }
  out.push_back('"');
}

std::string stringify_string(std::string_view wtf8) {
  std::string out;
  stringify_string(wtf8, out);
  return out;
}

void stringify(const Value& value, std::string& out) {
  Writer writer(out);
  walk(value, writer);
}

std::string stringify(const Value& value) {
  std::string out;
  stringify(value, out);
  return out;
}

bool is_canonical(std::string_view text) {
  return Checker(text).run() && is_valid_utf8(text);
}

void Text::comma() {
  if (!empty_) {
    text_ += ',';
  }
  text_ += gap_;
  empty_ = false;
}

Text& Text::add_json(std::string_view key, std::string_view json) {
  comma();
  stringify_string(key, text_);
  text_ += ':';
  text_ += json;
  return *this;
}

Text& Text::add(std::string_view key, std::string_view text) {
  add_json(key, "");
  stringify_string(text, text_);
  return *this;
}

Text Text::array_of(const std::vector<std::string>& texts) {
  Text array = Text::array();
  for (const std::string& text : texts) {
    array.item(text);
  }
  return array;
}

Text& Text::item(std::string_view text) {
  item_json("");
  stringify_string(text, text_);
  return *this;
}

Text& Text::item_json(std::string_view json) {
  comma();
  text_ += json;
  return *this;
}

std::string Text::str() const {
  std::string whole;
  whole.reserve(text_.size() + gap_.size() + 1);
  whole += text_;
  if (!empty_) {
    whole += gap_;
  }
  whole += closer_;
  return whole;
}

void canonicalize(std::string_view text, std::string& out) {
  if (is_canonical(text)) {
    out.append(text);
    return;
  }
  Document document;
  if (parse(text, document)) {
    stringify(document, out);
  }
}

}  // namespace arborfs::json
