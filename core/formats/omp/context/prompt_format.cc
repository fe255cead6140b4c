#include "core/formats/omp/context/prompt_format.h"

#include <algorithm>
#include <vector>

#include "core/json/js_text.h"

namespace arborfs {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const std::size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return pieces;
    }
    text.remove_prefix(end + 1);
  }
}

bool is_fence(std::string_view text) {
  return text.starts_with("```") || text.starts_with("~~~");
}

// </a>, </some-tag_x>
bool is_closing_tag(std::string_view text) {
  if (text.size() < 4 || !text.starts_with("</") || text.back() != '>') {
    return false;
  }
  const std::string_view name = text.substr(2, text.size() - 3);
  return std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '-' || c == '_'; });
}

bool is_in_bars(std::string_view text) {
  return text.size() > 1 && text.front() == '|' && text.back() == '|';
}

// True if the text has a character other than line feed that the dot of a JavaScript regular expression does not match.
bool has_line_separator(std::string_view text) {
  return text.find('\r') != std::string_view::npos || text.find("\u2028") != std::string_view::npos ||
         text.find("\u2029") != std::string_view::npos;
}

// |---|:---:|
bool is_separator_row(std::string_view text) {
  if (!is_in_bars(text) || text.size() < 3) {
    return false;
  }
  bool is_separator = true;
  for_each_character(text, [&is_separator](std::string_view character) {
    is_separator = is_separator && (character == "-" || character == ":" || character == "|" || is_blank(character));
  });
  return is_separator;
}

std::string separator_row(std::string_view text) {
  std::string out;
  for (const std::string_view piece : split(text, '|')) {
    const std::string_view cell = trimmed(piece);
    if (!cell.empty()) {
      out += out.empty() ? "" : "|";
      out += cell.front() == ':' ? ":---" : "---";
      out += cell.back() == ':' ? ":" : "";
    }
  }
  return "|" + out + "|";
}

std::string trimmed_row(std::string_view text) {
  std::string out;
  for (const std::string_view cell : split(text, '|')) {
    out += trimmed(cell);
    out += '|';
  }
  out.pop_back();
  return out;
}

std::string without_padding(std::string_view text) {
  if (is_separator_row(text)) {
    return separator_row(text);
  }
  return is_in_bars(text) && !has_line_separator(text) ? trimmed_row(text) : std::string(text);
}

class Formatter {
 public:
  void take(std::string_view raw);
  std::string text() && { return std::move(out_); }

 private:
  void add_line(std::string_view line);

  std::string out_;
  bool is_code_ = false;
  bool has_lines_ = false;
  std::size_t blanks_ = 0;  // blank lines not written yet
};

void Formatter::take(std::string_view raw) {
  const std::string_view line = trimmed_end(raw);
  if (line.empty()) {
    ++blanks_;
    return;
  }
  const std::string_view text = trimmed_start(line);
  const bool was_code = is_code_;
  is_code_ = is_code_ != is_fence(text);
  if (was_code) {
    for (; blanks_ > 0; --blanks_) {
      add_line({});
    }
  } else if (blanks_ == 1 && has_lines_ && !is_closing_tag(text)) {
    add_line({});
  }
  blanks_ = 0;
  add_line(line.substr(0, line.size() - text.size()));
  out_ += was_code ? std::string(text) : without_padding(text);
}

void Formatter::add_line(std::string_view line) {
  out_ += has_lines_ ? "\n" : "";
  out_ += line;
  has_lines_ = true;
}

}  // namespace

std::string formatted_prompt(std::string_view wtf8) {
  Formatter formatter;
  for (const std::string_view line : split(wtf8, '\n')) {
    formatter.take(line);
  }
  return std::move(formatter).text();
}

}  // namespace arborfs
