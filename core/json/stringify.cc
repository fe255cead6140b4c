#include <array>
#include <cstring>

#include "core/json/document.h"
#include "core/json/text_bytes.h"
#include "core/json/utf8.h"
#include "core/json/walk.h"

namespace arborfs::json {
namespace {

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

}  // namespace

void stringify_string(std::string_view text, std::string& out) {
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

}  // namespace arborfs::json
