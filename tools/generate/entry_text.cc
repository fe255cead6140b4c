#include "tools/generate/entry_text.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace arborfs::generate {

std::string iso_time(std::int64_t milliseconds) {
  const std::time_t seconds = milliseconds / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 40> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text.data() + length, text.size() - length, ".%03dZ", static_cast<int>(milliseconds % 1000));
  return text.data();
}

void add_member(std::string& out, std::string_view key, std::string_view text) {
  ((((out += '"') += key) += "\":\"") += text) += '"';
}

void add_number(std::string& out, std::string_view key, std::uint64_t number) {
  (((out += '"') += key) += "\":") += std::to_string(number);
}

std::string millionths(std::uint64_t amount) {
  std::string digits = std::to_string(amount % 1'000'000 + 1'000'000);
  digits[0] = '.';
  while (digits.size() > 1 && (digits.back() == '0')) {
    digits.pop_back();
  }
  return std::to_string(amount / 1'000'000) + (digits.size() > 1 ? digits : "");
}

std::string title_slot(std::string_view title, std::int64_t now_ms) {
  std::string line = R"({"type":"title","v":1,)";
  add_member(line, "title", title);
  line += R"(,"source":"auto",)";
  add_member(line, "updatedAt", iso_time(now_ms));
  line += R"(,"pad":")";
  line.append(253 - line.size(), ' ');
  return line + "\"}\n";
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63];
    }
  }
  return out;
}

}  // namespace arborfs::generate
