// The part of ValueScanner that reads numbers.
#include "core/json/scan.h"
#include "core/json/text_bytes.h"

namespace arborfs::json {
namespace {

bool is_exponent(char c) {
  return c == 'e' || c == 'E';
}

}  // namespace

const char* ValueScanner::number_byte(const char* p) {
  const char c = *p;
  switch (mode_) {
    case Mode::minus:
      mode_ = c == '0' ? Mode::zero : Mode::integer;
      return is_digit(c) ? p + 1 : fail(p);
    case Mode::zero:
      return behind_integer(p);
    case Mode::integer:
      return is_digit(c) ? p + 1 : behind_integer(p);
    case Mode::point:
      mode_ = Mode::fraction;
      return is_digit(c) ? p + 1 : fail(p);
    case Mode::fraction:
      if (is_exponent(c)) {
        mode_ = Mode::exponent;
        return p + 1;
      }
      return is_digit(c) ? p + 1 : token_done(p);
    case Mode::exponent:
    case Mode::exponent_sign:
      if (mode_ == Mode::exponent && (c == '+' || c == '-')) {
        mode_ = Mode::exponent_sign;
        return p + 1;
      }
      if (!is_digit(c)) {
        return no_exponent(p, mode_ == Mode::exponent ? 1 : 2);
      }
      mode_ = Mode::exponent_digits;
      return p + 1;
    default:
      return is_digit(c) ? p + 1 : token_done(p);
  }
}

const char* ValueScanner::behind_integer(const char* p) {
  if (*p == '.') {
    mode_ = Mode::point;
    return p + 1;
  }
  if (is_exponent(*p)) {
    mode_ = Mode::exponent;
    return p + 1;
  }
  return token_done(p);
}

// The number ended `back` bytes ago, before an `e` that starts no exponent but is the next token.
const char* ValueScanner::no_exponent(const char* p, std::uint64_t back) {
  if (is_object_.empty() && !offending_) {
    return value_done(p, back);
  }
  if (offending_ || back != 1 || !is_word(*p)) {
    return fail(p);
  }
  mode_ = Mode::bad_word;
  return p + 1;
}

}  // namespace arborfs::json
