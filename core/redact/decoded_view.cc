#include "core/redact/decoded_view.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "core/json/base64.h"
#include "core/json/text_bytes.h"

namespace arborfs::redact {
namespace {

constexpr std::size_t kAround = 192;        // text around an escape that a secret with it may have
constexpr std::size_t kLongestWord = 4096;  // which a view does not cut
constexpr std::string_view kPairs = "\"\"\\\\//b\bf\fn\nr\rt\t''";  // what may follow a backslash, and what it means

/// What an escape means; it reads nothing if the text there is no escape.
struct Escape {
  std::size_t read = 0;
  std::string meaning;
};

int hex_number(std::string_view digits) {
  int number = 0;
  for (const char c : digits) {
    const int value = json::hex_value(c);
    if (value < 0) {
      return -1;
    }
    number = number * 16 + value;
  }
  return number;
}

Escape unicode_escape(std::string_view text) {
  constexpr std::size_t kSize = 6;  // \uXXXX
  const int unit = text.size() < kSize ? -1 : hex_number(text.substr(2, 4));
  if (unit < 0) {
    return {};
  }
  Escape escape{kSize, ""};
  auto c = static_cast<char32_t>(unit);
  if (json::is_high_surrogate(c) && text.size() >= 2 * kSize && text.substr(kSize, 2) == "\\u") {
    const int low = hex_number(text.substr(kSize + 2, 4));
    if (low >= 0 && json::is_low_surrogate(static_cast<char32_t>(low))) {
      c = json::join_surrogates(c, static_cast<char32_t>(low));
      escape.read = 2 * kSize;
    }
  }
  json::append_code_point(escape.meaning, c);
  return escape;
}

Escape escape_at(std::string_view text) {
  if (text.front() == '%') {
    const int byte = text.size() < 3 ? -1 : hex_number(text.substr(1, 2));
    return byte < 0 ? Escape{} : Escape{3, std::string(1, static_cast<char>(byte))};
  }
  if (text.front() == '\0') {
    return {1, ""};
  }
  if (text.size() < 2) {
    return {};
  }
  if (text[1] == 'u') {
    return unicode_escape(text);
  }
  for (std::size_t pair = 0; pair < kPairs.size(); pair += 2) {
    if (kPairs[pair] == text[1]) {
      return {2, std::string(1, kPairs[pair + 1])};
    }
  }
  return {};
}

/// Goes from one byte that can start an escape to the next.
class Starts {
 public:
  Starts(std::string_view text, Escapes which) : text_(text) {
    next_[0] = {'\\', 0};
    next_[1] = {'%', which == Escapes::all ? 0 : text.size()};
    next_[2] = {'\0', which == Escapes::all ? 0 : text.size()};
  }
  /// The first one at or behind `from`, which never goes back; the size of the text if there is none.
  std::size_t find(std::size_t from) {
    std::size_t first = text_.size();
    for (auto& [c, at] : next_) {
      if (at < text_.size() && (at < from || text_[at] != c)) {
        const void* const found = std::memchr(text_.data() + std::max(at, from), c, text_.size() - std::max(at, from));
        at = found == nullptr ? text_.size() : static_cast<std::size_t>(static_cast<const char*>(found) - text_.data());
      }
      first = std::min(first, at);
    }
    return first;
  }

 private:
  struct Next {
    char c = 0;
    std::size_t at = 0;
  };
  std::string_view text_;
  std::array<Next, 3> next_;
};

/// Back to the beginning of the word at `at`, if it is near; never before `least`.
std::size_t word_start(std::string_view text, std::size_t at, std::size_t least) {
  for (std::size_t back = at; back > least && at - back < kLongestWord; --back) {
    if (json::is_space(text[back - 1])) {
      return back;
    }
  }
  return at;
}

/// On to the end of the word at `at`, if it is near.
std::size_t word_end(std::string_view text, std::size_t at) {
  const std::string_view near = text.substr(at, kLongestWord);
  const auto space = std::find_if(near.begin(), near.end(), json::is_space);
  return space == near.end() && at + near.size() < text.size() ? at
                                                               : at + static_cast<std::size_t>(space - near.begin());
}

std::uint8_t digit(char c) {
  return json::kBase64Values[static_cast<unsigned char>(c)];
}
bool is_digit(char c) {
  return digit(c) != json::kNoBase64;
}

bool is_readable(char c) {
  return (c >= ' ' && c <= '~') || c == '\n' || c == '\t' || c == '\r';
}

constexpr std::size_t kShortestRun = 20;   // characters of base64
constexpr std::size_t kShortestLine = 60;  // of base64 that goes on in the next line
constexpr std::size_t kShortestText = 12;  // bytes that are decoded
constexpr std::size_t kFirstGroups = 4;    // of readable text

/// Characters of base64 in one line or more.
class Run {
 public:
  void add(std::string_view line, std::size_t from) {
    lines_.push_back({chars_.size(), from});
    chars_ += line;
  }
  [[nodiscard]] std::string_view chars() const { return chars_; }
  void clear() {
    chars_.clear();
    lines_.clear();
  }

  /// Appends views of its readable texts. The groups of four may begin at any of its first four characters.
  void find_texts(const DecodedView* outer, std::deque<DecodedView>& views) const {
    std::array<std::size_t, 4> streak{};  // groups so far whose first byte is readable
    for (std::size_t at = 0; at < chars_.size(); ++at) {
      const std::uint8_t first = digit(chars_[at]);
      const bool may = (first >= 8 && first < 32) || first == 2 || first == 3;  // the upper six bits of that byte
      std::size_t& groups = streak[at & 3U];
      if (may) {
        ++groups;
      } else {
        groups = groups >= kFirstGroups ? add_texts(at - 4 * groups, at, outer, views) : 0;
      }
    }
    for (std::size_t residue = 0; residue < 4; ++residue) {
      if (streak[residue] >= kFirstGroups) {
        const std::size_t last = chars_.size() - 1 - ((chars_.size() - 1 - residue) & 3U);
        add_texts(last + 4 - 4 * streak[residue], chars_.size(), outer, views);
      }
    }
  }

 private:
  struct Line {
    std::size_t at;    // in the characters
    std::size_t from;  // in the outer text
  };

  /// Decodes groups from `begin` on and appends their readable parts as views. Returns 0.
  std::size_t add_texts(std::size_t begin, std::size_t end, const DecodedView* outer,
                        std::deque<DecodedView>& views) const {
    std::string bytes((end - begin + 3) / 4 * 3, '\0');
    std::size_t length = 0;
    for (std::size_t at = begin; at + 1 < end; at += 4) {
      const std::size_t count = std::min<std::size_t>(4, end - at);
      std::uint32_t bits = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        bits = bits << 6U | (i < count ? digit(chars_[at + i]) : 0U);
      }
      for (std::size_t i = 0; i < 3; ++i) {
        bytes[length + i] = static_cast<char>(static_cast<unsigned char>(bits >> (16 - 8 * i) & 0xFFU));
      }
      length += count - 1;
    }
    bytes.resize(length);
    for (std::size_t at = 0; at < bytes.size();) {
      std::size_t stop = at;
      while (stop < bytes.size() && is_readable(bytes[stop])) {
        ++stop;
      }
      if (stop - at >= kShortestText) {
        add_view(bytes, {at, stop}, begin, outer, views);
      }
      at = stop + 1;
    }
    return 0;
  }

  void add_view(std::string_view bytes, Span part, std::size_t begin, const DecodedView* outer,
                std::deque<DecodedView>& views) const {
    DecodedView& view = views.emplace_back(outer);
    for (std::size_t at = part.begin; at < part.end;) {
      const std::size_t first = begin + at / 3 * 4;
      const std::size_t last = std::min(first + 4, chars_.size()) - 1;
      const std::size_t stop = std::min(part.end, at / 3 * 3 + 3);
      const std::size_t from = outer_place(first);
      const bool is_whole = at % 3 == 0 && last == first + 3;
      view.append(bytes.substr(at, stop - at), from, outer_place(last) + 1 - from, is_whole ? 3 : stop - at);
      at = stop;
    }
  }

  [[nodiscard]] std::size_t outer_place(std::size_t at) const {
    const auto line = std::prev(std::upper_bound(lines_.begin(), lines_.end(), at,
                                                 [](std::size_t place, const Line& one) { return place < one.at; }));
    return line->from + (at - line->at);
  }

  std::string chars_;
  std::vector<Line> lines_;
};

/// The end of the run of base64 at `at`.
std::size_t run_end(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) {
    ++at;
  }
  return at;
}

}  // namespace

void DecodedView::append(std::string_view text, std::size_t from, std::size_t read, std::size_t made) {
  if (text.empty()) {
    return;
  }
  const Piece* const last = pieces_.empty() ? nullptr : &pieces_.back();
  const bool goes_on = last != nullptr && last->read == read && last->made == made &&
                       (text_.size() - last->at) % made == 0 &&
                       last->from + (text_.size() - last->at) / made * read == from;
  if (!goes_on) {
    pieces_.push_back({text_.size(), from, read, made});
  }
  text_ += text;
}

const DecodedView::Piece& DecodedView::piece_at(std::size_t at) const {
  return *std::prev(std::upper_bound(pieces_.begin(), pieces_.end(), at,
                                     [](std::size_t place, const Piece& piece) { return place < piece.at; }));
}

Span DecodedView::in_source(Span part) const {
  const Piece& first = piece_at(part.begin);
  const Piece& last = piece_at(part.end - 1);
  const Span outer{first.from + (part.begin - first.at) / first.made * first.read,
                   last.from + ((part.end - 1 - last.at) / last.made + 1) * last.read};
  return outer_ == nullptr ? outer : outer_->in_source(outer);
}

void unescape(std::string_view text, const DecodedView* outer, Escapes which, std::deque<DecodedView>& views) {
  Starts starts(text, which);
  DecodedView* view = which == Escapes::json ? &views.emplace_back(outer) : nullptr;
  std::size_t done = 0;  // how far the text is in a view, or in none
  std::size_t last = 0;  // the end of the last escape
  for (std::size_t at = starts.find(0); at < text.size();) {
    const Escape escape = escape_at(text.substr(at));
    if (escape.read == 0) {
      at = starts.find(at + 1);
      continue;
    }
    if (which == Escapes::all && (view == nullptr || at - last > 2 * kAround)) {
      if (view != nullptr) {
        const std::size_t end = std::min(word_end(text, last + kAround), at);
        view->append(text.substr(done, end - done), done, 1, 1);
        done = end;
      }
      view = &views.emplace_back(outer);
      done = word_start(text, std::max(done, at - std::min(at, kAround)), done);
    }
    view->append(text.substr(done, at - done), done, 1, 1);
    view->append(escape.meaning, at, escape.read, std::max<std::size_t>(escape.meaning.size(), 1));
    done = last = at + escape.read;
    at = starts.find(done);
  }
  if (view != nullptr) {
    const std::size_t end =
        which == Escapes::json ? text.size() : word_end(text, std::min(text.size(), last + kAround));
    view->append(text.substr(done, end - done), done, 1, 1);
  }
}

void decode_base64_texts(std::string_view text, const DecodedView* outer, std::deque<DecodedView>& views) {
  Run run;
  std::size_t begin = 0;  // no run goes on from before
  for (std::size_t at = kShortestRun - 1; at < text.size();) {
    if (!is_digit(text[at])) {
      begin = at + 1;
      at += kShortestRun;
      continue;
    }
    std::size_t start = at;
    while (start > begin && is_digit(text[start - 1])) {
      --start;
    }
    if (at + 1 - start < kShortestRun) {
      begin = start;
      at = start + kShortestRun - 1;
      continue;
    }
    std::size_t end = run_end(text, at);
    run.clear();
    run.add(text.substr(start, end - start), start);
    while (end - start >= kShortestLine && end < text.size()) {
      const std::size_t next = end + (text[end] == '\r' && end + 1 < text.size() ? 2 : 1);
      if (text[next - 1] != '\n' || next >= text.size() || !is_digit(text[next])) {
        break;
      }
      start = next;
      end = run_end(text, next);
      run.add(text.substr(start, end - start), start);
    }
    run.find_texts(outer, views);
    begin = end;
    at = end + kShortestRun;
  }
}

}  // namespace arborfs::redact
