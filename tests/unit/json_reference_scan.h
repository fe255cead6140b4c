// A second scanner, over complete text, written after the agents' readers and not after core/json. The tests compare
// ValueScanner with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace arborfs::json::testing {

class ReferenceScan {
 public:
  static constexpr long kError = -1;
  static constexpr long kUnfinished = -2;

  explicit ReferenceScan(std::string_view text) : s_(text), n_(static_cast<long>(text.size())) {}

  /// The end of the value at `i`, kError or kUnfinished.
  long scan(long i) {
    std::vector<char> stack;
    bool expect_value = true;
    bool just_opened = false;
    for (;;) {
      i = skip(i);
      if (i >= n_) {
        return kUnfinished;
      }
      const char top = stack.empty() ? '\0' : stack.back();
      const char closer = top == '[' ? ']' : '}';
      if (!expect_value) {
        if (at(i) == ',') {
          ++i;
          expect_value = true;
          just_opened = false;
        } else if (at(i) == closer) {
          ++i;
          stack.pop_back();
          if (stack.empty()) {
            return i;
          }
        } else {
          return fail(i);
        }
        continue;
      }
      if (just_opened && at(i) == closer) {
        ++i;
        stack.pop_back();
        just_opened = false;
      } else {
        if (top == '{' && (i = key(i)) < 0) {
          return i;
        }
        i = scalar_or_opener(i, stack, just_opened);
        if (i < 0) {
          return i;
        }
      }
      expect_value = just_opened;
      if (!expect_value && stack.empty()) {
        return i;
      }
    }
  }

 private:
  char at(long i) const { return i < n_ ? s_[static_cast<std::size_t>(i)] : '\0'; }
  bool digit(long i) const { return at(i) >= '0' && at(i) <= '9'; }
  bool word(long i) const {
    return i < n_ && (digit(i) || (at(i) >= 'a' && at(i) <= 'z') || (at(i) >= 'A' && at(i) <= 'Z') || at(i) == '_' ||
                      at(i) == '$');
  }
  bool any(long i, std::string_view of) const { return i < n_ && of.find(at(i)) != std::string_view::npos; }

  long skip(long i) const {
    while (any(i, " \t\n\r")) {
      ++i;
    }
    return i;
  }

  long literal(long i) const {
    for (const std::string_view word : {"true", "false", "null"}) {
      if (s_.substr(static_cast<std::size_t>(i)).starts_with(word)) {
        return static_cast<long>(word.size());
      }
    }
    return 0;
  }

  long key(long i) const {
    if (at(i) != '"') {
      return fail(i);
    }
    if ((i = string(i)) < 0) {
      return i;
    }
    if ((i = skip(i)) >= n_) {
      return kUnfinished;
    }
    if (at(i) != ':') {
      return fail(i);
    }
    i = skip(i + 1);
    return i >= n_ ? kUnfinished : i;
  }

  long scalar_or_opener(long i, std::vector<char>& stack, bool& opened) const {
    opened = at(i) == '{' || at(i) == '[';
    if (opened) {
      stack.push_back(at(i));
      return i + 1;
    }
    if (at(i) == '"') {
      return string(i);
    }
    if (at(i) == '-' || digit(i)) {
      return number(i);
    }
    return literal(i) > 0 ? i + literal(i) : fail(i);
  }

  long fail(long i) const {
    long e = i;
    if (at(i) == '"' || at(i) == '-' || digit(i)) {
      e = at(i) == '"' ? string(i) : number(i);
      if (e < 0) {
        return e;
      }
    } else if (word(i)) {
      e += literal(i);
      while (literal(i) == 0 && word(e)) {
        ++e;
      }
    } else if (any(i, "{}[],:;()=.")) {
      ++e;
    }
    return e > i && e >= n_ ? kUnfinished : kError;
  }

  long string(long i) const {
    for (++i; i < n_; ++i) {
      if (at(i) == '"') {
        return i + 1;
      }
      if (static_cast<unsigned char>(at(i)) < 0x20) {
        return kError;
      }
      if (at(i) != '\\') {
        continue;
      }
      if (++i >= n_) {
        return kUnfinished;
      }
      if (at(i) == 'u') {
        for (int k = 0; k < 4; ++k) {
          if (!any(++i, "0123456789abcdefABCDEF")) {
            return kError;
          }
        }
      } else if (!any(i, "\"\\/bfnrt")) {
        return kError;
      }
    }
    return kUnfinished;
  }

  long number(long i) const {
    i += at(i) == '-';
    if (i >= n_) {
      return kUnfinished;
    }
    if (!digit(i)) {
      return kError;
    }
    i = at(i) == '0' ? i + 1 : digits(i);
    if (at(i) == '.') {
      if (++i >= n_) {
        return kUnfinished;
      }
      if (!digit(i)) {
        return kError;
      }
      i = digits(i);
    }
    if (at(i) != 'e' && at(i) != 'E') {
      return i;
    }
    const long exponent = i + (at(i + 1) == '+' || at(i + 1) == '-' ? 2 : 1);
    return digit(exponent) ? digits(exponent) : i;
  }

  long digits(long i) const {
    while (digit(i)) {
      ++i;
    }
    return i;
  }

  std::string_view s_;
  long n_;
};

/// Log-like texts of awkward fragments; the same sequence for the same seed.
class AwkwardTexts {
 public:
  explicit AwkwardTexts(unsigned seed) : x_(seed) {}

  unsigned below(unsigned n) {
    x_ = x_ * 1664525U + 1013904223U;
    return (x_ >> 8) % n;
  }

  std::string next() {
    static const std::vector<std::string> kBits = {"{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   "\"a\"",
                                                   "\"",
                                                   ":",
                                                   ",",
                                                   "\n",
                                                   "\n",
                                                   "\n",
                                                   " ",
                                                   "\t",
                                                   "\r",
                                                   "\r\n",
                                                   "1",
                                                   "-",
                                                   "0",
                                                   "12",
                                                   ".5",
                                                   "1.5",
                                                   "e3",
                                                   "e",
                                                   "e+",
                                                   "E-",
                                                   "true",
                                                   "tru",
                                                   "null",
                                                   "n",
                                                   "false",
                                                   "\\u12",
                                                   "\\",
                                                   std::string(1, '\0'),
                                                   "\xC3\xA9",
                                                   "\xE2\x80\xA8",
                                                   "\xF0\x9F\x98\x80",
                                                   "\xEF\xBB\xBF",
                                                   "xx",
                                                   "\f",
                                                   "//",
                                                   ";",
                                                   "{\"k\":",
                                                   "{\"k\":1,",
                                                   "[1,",
                                                   "0x1",
                                                   "01",
                                                   "\v",
                                                   "\xFF",
                                                   "\xC2",
                                                   "\"\xED\xA0\x80\"",
                                                   "\"x\\n\"",
                                                   "\"\\ud800\"",
                                                   "$",
                                                   "=",
                                                   ".",
                                                   "(",
                                                   "{\"a\":1}",
                                                   "{\"a\":1}\n",
                                                   "{\"b\":[1,2]}\n",
                                                   "{\"c\":{\"d\":\"e\"}}\n",
                                                   "{\"a\":1} ",
                                                   "\"\\u00"};
    std::string text;
    for (unsigned k = 0, n = 1 + below(14); k < n; ++k) {
      text += kBits[below(static_cast<unsigned>(kBits.size()))];
    }
    return text;
  }

 private:
  unsigned x_;
};

}  // namespace arborfs::json::testing
