#include "core/html/html.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/simd_classify.h"
#include "core/base/words.h"
#include "core/entry/text.h"

namespace arborfs::html {

namespace {

/// What stands for a character with a meaning in HTML; "" for others.
constexpr std::array<std::string_view, 256> kSpelling = [] {
  std::array<std::string_view, 256> table;
  table['&'] = "&amp;";
  table['<'] = "&lt;";
  table['>'] = "&gt;";
  table['"'] = "&quot;";
  table['\''] = "&#39;";
  return table;
}();

constexpr ByteSets kEscaped(std::string_view("&<>\"'"));

void escape(std::string_view shown, std::string& out) {
  out.reserve(out.size() + shown.size() + shown.size() / 16);
  std::size_t begin = 0;
  ByteSearch search(shown, kEscaped);
  for (std::size_t at = search.next(0); at < shown.size(); at = search.next(begin)) {
    out.append(shown, begin, at - begin).append(kSpelling[static_cast<unsigned char>(shown[at])]);
    begin = at + 1;
  }
  out.append(shown, begin, shown.size() - begin);
}

}  // namespace

std::string text(std::string_view wtf8) {
  std::string out;
  escape(visible(wtf8), out);
  return out;
}

namespace {

/// How the terminal writes, as SGR sets it.
struct Look {
  int colour = -1;
  int background = -1;
  bool is_bold = false;
  bool is_dim = false;
  bool is_italic = false;
  bool is_underlined = false;
  bool is_reversed = false;

  [[nodiscard]] std::string classes() const {
    std::string names;
    const auto add = [&names](bool is_set, const std::string& name) {
      names += !is_set ? "" : names.empty() ? name : " " + name;
    };
    const int front = is_reversed ? background : colour;
    const int back = is_reversed ? colour : background;
    add(front >= 0, "fg" + std::to_string(front));
    add(back >= 0, "bg" + std::to_string(back));
    add(is_reversed && colour < 0, "reverse");
    add(is_bold, "bold");
    add(is_dim, "dim");
    add(is_italic, "italic");
    add(is_underlined, "underline");
    return names;
  }
};

/// The one of the 16 colours that is nearest to one of red, green and blue.
int nearest(int red, int green, int blue) {
  constexpr int kDark = 96;
  constexpr int kBright = 192;
  const int most = std::max({red, green, blue});
  const int least = std::min({red, green, blue});
  if (most - least < 48) {  // a grey
    return most < 48 ? 0 : most < 128 ? 8 : most < 224 ? 7 : 15;
  }
  const int middle = (most + least) / 2;
  const int hue = (red > middle ? 1 : 0) + (green > middle ? 2 : 0) + (blue > middle ? 4 : 0);
  return hue + (most > kBright || least > kDark ? 8 : 0);
}

/// The colour of `38;5;n` or `38;2;r;g;b`, whose number 5 or 2 is at `at`; moves `at` to its last number.
std::optional<int> extended(const std::vector<int>& numbers, std::size_t& at) {
  if (at + 1 < numbers.size() && numbers[at] == 5) {
    const int colour = numbers[++at];
    constexpr int kCube = 16;
    constexpr int kGreys = 232;
    if (colour < kCube || colour > 255) {
      return colour < kCube ? std::optional(colour) : std::nullopt;
    }
    if (colour >= kGreys) {
      const int level = 8 + (colour - kGreys) * 10;
      return nearest(level, level, level);
    }
    const auto level = [](int step) { return step == 0 ? 0 : 55 + step * 40; };
    const int place = colour - kCube;
    return nearest(level(place / 36), level(place / 6 % 6), level(place % 6));
  }
  if (at + 3 < numbers.size() && numbers[at] == 2) {
    at += 3;
    return nearest(numbers[at - 2], numbers[at - 1], numbers[at]);
  }
  return std::nullopt;
}

void set_look(const std::vector<int>& numbers, Look& look) {
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    const int number = numbers[at];
    if (number == 0) {
      look = {};
    } else if (number == 1) {
      look.is_bold = true;
    } else if (number == 2) {
      look.is_dim = true;
    } else if (number == 3) {
      look.is_italic = true;
    } else if (number == 4) {
      look.is_underlined = true;
    } else if (number == 7) {
      look.is_reversed = true;
    } else if (number == 22) {
      look.is_bold = look.is_dim = false;
    } else if (number == 23) {
      look.is_italic = false;
    } else if (number == 24) {
      look.is_underlined = false;
    } else if (number == 27) {
      look.is_reversed = false;
    } else if (number >= 30 && number <= 37) {
      look.colour = number - 30;
    } else if (number == 39) {
      look.colour = -1;
    } else if (number >= 40 && number <= 47) {
      look.background = number - 40;
    } else if (number == 49) {
      look.background = -1;
    } else if (number >= 90 && number <= 97) {
      look.colour = number - 82;
    } else if (number >= 100 && number <= 107) {
      look.background = number - 92;
    } else if (number == 38 || number == 48) {
      const auto colour = extended(numbers, ++at);
      if (colour) {
        (number == 38 ? look.colour : look.background) = *colour;
      }
    }
  }
}

/// The numbers of the sequence ESC [ … m at the start of `text`, and its length; nothing if another one is there.
struct Sequence {
  std::vector<int> numbers;
  std::size_t length = 0;
};
std::optional<Sequence> sgr_at(std::string_view text) {
  constexpr std::string_view kStart = "\x1b[";
  constexpr std::size_t kLongest = 64;
  if (!text.starts_with(kStart)) {
    return std::nullopt;
  }
  const std::size_t end = text.substr(0, kLongest).find_first_not_of("0123456789;:", kStart.size());
  if (end == std::string_view::npos || text[end] != 'm') {
    return std::nullopt;
  }
  Sequence found;
  found.length = end + 1;
  for (std::size_t at = kStart.size(); at <= end; ++at) {
    int number = 0;
    const auto read = std::from_chars(text.data() + at, text.data() + end, number);
    constexpr int kMost = 999;
    found.numbers.push_back(read.ec == std::errc() ? std::min(number, kMost) : 0);
    at = static_cast<std::size_t>(read.ptr - text.data());
  }
  return found;
}

}  // namespace

std::string terminal(std::string_view wtf8) {
  std::string out;
  if (wtf8.find('\x1b') == std::string_view::npos && wtf8.find('\r') == std::string_view::npos) {
    escape(visible(wtf8), out);
    return out;
  }
  Look look;
  const auto put = [&](std::string_view piece) {
    std::string plain;
    for (std::size_t at = 0; at < piece.size();) {  // a line may end as those of Windows do
      const std::size_t end = std::min(piece.find("\r\n", at), piece.size());
      plain.append(piece, at, end - at);
      at = end + 1;
    }
    const std::string classes = look.classes();
    if (!plain.empty() && !classes.empty()) {
      out += "<span class=\"" + classes + "\">";
    }
    escape(visible(plain), out);
    out += plain.empty() || classes.empty() ? "" : "</span>";
  };
  std::size_t begin = 0;
  for (std::size_t at = wtf8.find('\x1b'); at != std::string_view::npos; at = wtf8.find('\x1b', at)) {
    const auto sequence = sgr_at(wtf8.substr(at));
    if (!sequence) {
      ++at;
      continue;
    }
    put(wtf8.substr(begin, at - begin));
    set_look(sequence->numbers, look);
    at += sequence->length;
    begin = at;
  }
  put(wtf8.substr(begin));
  return out;
}

std::string diff(std::string_view wtf8) {
  const std::string shown = visible(wtf8);
  std::string out;
  for (std::string_view rest = shown; !rest.empty();) {
    const std::string_view line = take_line(rest);
    const char first = line.empty() ? ' ' : line.front();
    out += first == '+' ? "<ins class=\"add\">" : first == '-' ? "<del class=\"del\">" : "<span class=\"";
    out += first == '+' || first == '-' ? "" : first == '@' ? "at\">" : "same\">";
    escape(line, out);
    out += first == '+' ? "\n</ins>" : first == '-' ? "\n</del>" : "\n</span>";
  }
  return out;
}

}  // namespace arborfs::html
