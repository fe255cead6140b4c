#include "core/json/number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <system_error>

#include "core/json/document.h"
#include "core/json/text_bytes.h"

namespace arborfs::json {
namespace {

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

}  // namespace

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

}  // namespace arborfs::json
