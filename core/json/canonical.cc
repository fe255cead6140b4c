// Implements is_canonical: would JSON.stringify spell the value exactly like this text?
#include <span>
#include <vector>

#include "core/json/document.h"
#include "core/json/key_order.h"
#include "core/json/number.h"
#include "core/json/text_bytes.h"
#include "core/json/utf8.h"

namespace arborfs::json {
namespace {

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

  bool run();

 private:
  bool string();
  bool number();
  bool end_of_object();

  const char* p_;
  const char* end_;
  std::vector<std::size_t> open_;       // for each open object, where its keys start in keys_
  std::vector<std::string_view> keys_;  // of all open objects
};

bool Checker::run() {
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

bool Checker::string() {
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

bool Checker::number() {
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

bool Checker::end_of_object() {
  if (open_.empty()) {
    return false;
  }
  const std::size_t first = open_.back();
  open_.pop_back();
  const bool ordered = keys_in_order(std::span(keys_).subspan(first));
  keys_.resize(first);
  return ordered;
}

}  // namespace

bool is_canonical(std::string_view text) {
  return Checker(text).run() && is_valid_utf8(text);
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
