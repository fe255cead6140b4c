#include "core/entry/markdown.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/entry/text.h"

namespace arborfs {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::size_t kDeepestIndent = 3;  // of a fence that is surely one
constexpr std::size_t kLongestMarker = 10;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_alphanumeric(char c) {
  return is_letter(c) || (c >= '0' && c <= '9');
}
bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_blank(std::string_view line) {
  return line.find_first_not_of(kBlanks) == std::string_view::npos;
}
/// How many bytes at the start of a line only say in which lists and quotes it stands.
std::size_t containers_of(std::string_view line) {
  std::size_t at = 0;
  for (;;) {
    at = std::min(line.find_first_not_of(" \t>", at), line.size());
    const std::string_view rest = line.substr(at);
    std::size_t marker = rest.starts_with('(') ? 1 : 0;
    while (marker < std::min(rest.size(), kLongestMarker) && (is_alphanumeric(rest[marker]) || rest[marker] == '@')) {
      ++marker;
    }
    const bool is_auto = rest.starts_with("#.");
    if (is_auto || (marker > 0 && marker < rest.size() && (rest[marker] == '.' || rest[marker] == ')'))) {
      marker = is_auto ? 2 : marker + 1;
    } else {
      marker = !rest.empty() && std::string_view("-+*:~").find(rest[0]) != std::string_view::npos ? 1 : 0;
    }
    if (marker == 0 || (marker < rest.size() && !is_blank(rest[marker]))) {
      return at;
    }
    at += marker;
  }
}

/// True for a line that could underline a heading, rule off a table, or begin or end metadata.
bool is_rule(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  const char mark = first == std::string_view::npos ? '\0' : text[first];
  return (mark == '-' || mark == '=') &&
         text.find_first_not_of(std::array{mark, ' ', '\t', '\0'}.data()) == std::string_view::npos;
}

/// The characters that may begin something that as_markdown() changes: runs of them, or lines that have nothing else
/// after them, if is_plain_markdown() says so.
constexpr ByteSets kMarks("<[#~=\\:`-");
/// The characters that may need a backslash within a line.
constexpr ByteSets kMarksInLines("`<[\\");

class MarkdownText {
 public:
  MarkdownText(std::string_view text, MarkdownPlace place) : text_(text), place_(place) {
    out_.reserve(text.size() + text.size() / 32);
  }

  std::string make() {
    if (place_ == MarkdownPlace::line) {
      words(text_);
      return std::move(out_);
    }
    bool is_first = true;
    for (std::size_t at = 0; at <= text_.size();) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      out_ += is_first ? "" : "\n";
      is_first = false;
      line(text_.substr(at, end - at), std::min(end + 1, text_.size()));
      at = end + 1;
    }
    if (opened_) {
      out_.append(out_.ends_with('\n') ? "" : "\n").append(opened_->length, opened_->character);
    }
    return std::move(out_);
  }

 private:
  /// `next` is where the following line begins.
  void line(std::string_view line, std::size_t next) {
    const auto fence = code_fence_in(line);
    if (opened_) {
      out_ += line;
      if (fence && fence->closes(*opened_) && fence->indent <= kDeepestIndent) {
        opened_.reset();
      }
      was_blank_ = false;
    } else if (is_blank(line)) {
      out_ += line;
      was_blank_ = true;
      has_open_code_ = false;
    } else if (fence && is_sure(*fence, next)) {
      open(line, *fence);
    } else {
      escaped(line);
      was_blank_ = false;
    }
  }

  /// True for a fence that every reader takes for one: it has no indentation, or ends where it began.
  [[nodiscard]] bool is_sure(const CodeFence& fence, std::size_t next) const {
    const bool has_backticks = fence.info.find_first_of("`{}<\\") != std::string_view::npos;
    if (place_ == MarkdownPlace::quote || has_backticks || fence.indent > kDeepestIndent) {
      return false;
    }
    if (fence.indent == 0) {
      return true;
    }
    for (std::size_t at = next; at < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      const std::string_view line = text_.substr(at, end - at);
      const auto other = code_fence_in(line);
      if (other && other->closes(fence)) {
        return other->indent == fence.indent;
      }
      if (!is_blank(line) && std::min(line.find_first_not_of(' '), line.size()) < fence.indent) {
        return false;
      }
      at = end + 1;
    }
    return false;
  }

  void open(std::string_view line, const CodeFence& fence) {
    out_ += was_blank_ ? "" : "\n";
    const std::size_t info = static_cast<std::size_t>(fence.info.data() - line.data());
    out_ += fence.info.empty() ? line : line.substr(0, info);
    for (const char c : fence.info) {
      out_ += is_blank(c) ? ',' : c;
    }
    opened_ = fence;
  }

  void escaped(std::string_view line) {
    const std::size_t begin = containers_of(line);
    const std::string_view rest = line.substr(begin);
    const bool is_marked = rest.starts_with('#') || rest.starts_with(":::") || rest.starts_with("```") ||
                           rest.starts_with("~~~") || is_rule(rest);
    if (is_marked) {
      out_ += line.substr(0, begin);
      escape_mark(rest);
      return;
    }
    if (const std::size_t first = line.find_first_not_of(" \t>"); is_rule(line.substr(std::min(first, line.size())))) {
      out_ += line.substr(0, first);
      escape_mark(line.substr(first));
      return;
    }
    words(line);
  }

  /// Of a run of one character, the first is escaped; of a fence, each, as the rest could be one too.
  void escape_mark(std::string_view text) {
    const char mark = text[0];
    const bool is_fence = mark == '`' || mark == '~';
    std::size_t at = 0;
    while (at < text.size() && text[at] == mark && (at == 0 || is_fence)) {
      out_ += '\\';
      out_ += mark;
      ++at;
    }
    words(text.substr(at));
  }

  /// Escapes what could reach beyond its line.
  void words(std::string_view line) {
    std::size_t kept = 0;
    std::size_t at = 0;
    ByteSearch marks(line, kMarksInLines);
    while ((at = marks.next(at)) < line.size()) {
      if (line[at] == '`') {
        at = behind_code(line, at);
        continue;
      }
      if (needs_escape(line, at)) {
        const bool is_declaration = line.substr(at).starts_with("<!");  // in lists, pandoc finds comments after `\`
        at += is_declaration ? 1 : 0;
        out_.append(line.substr(kept, at - kept)).append("\\");
        kept = at;
      } else if (line[at] == '\\' && at + 1 < line.size() && !is_letter(line[at + 1])) {
        has_open_code_ = has_open_code_ || line[at + 1] == '`';
        ++at;
      }
      ++at;
    }
    out_ += line.substr(kept);
  }

  /// Goes over a span of code that ends on its line.
  std::size_t behind_code(std::string_view line, std::size_t at) {
    const std::size_t end = std::min(line.find_first_not_of('`', at), line.size());
    if (has_open_code_) {
      return end;
    }
    const std::size_t length = end - at;
    for (std::size_t next = end; (next = line.find('`', next)) != std::string_view::npos;) {
      const std::size_t behind = std::min(line.find_first_not_of('`', next), line.size());
      if (behind - next == length) {
        return behind;
      }
      next = behind;
    }
    has_open_code_ = true;
    return end;
  }

  [[nodiscard]] static bool needs_escape(std::string_view line, std::size_t at) {
    const std::string_view rest = line.substr(at);
    if (rest[0] == '<') {
      const bool is_address = rest.starts_with("<http://") || rest.starts_with("<https://");
      return !is_address && rest.size() > 1 &&
             (is_letter(rest[1]) || rest[1] == '/' || rest[1] == '!' || rest[1] == '?');
    }
    if (rest[0] == '[') {
      return !is_balanced(rest) || is_definition(rest);
    }
    return rest.size() > 1 && is_letter(rest[1]) && !is_whole_macro(rest);
  }

  /// True if the bracket is closed on the line, with nothing in between that could hide that.
  static bool is_balanced(std::string_view rest) {
    int depth = 0;
    for (std::size_t at = 0; at < rest.size(); ++at) {
      if (rest[at] == '\\' || rest[at] == '<') {
        return false;
      }
      if (rest[at] == '`') {
        const std::size_t end = std::min(rest.find_first_not_of('`', at), rest.size());
        const std::size_t close = rest.find(rest.substr(at, end - at), end);
        const std::string_view code =
            close == std::string_view::npos ? std::string_view("[") : rest.substr(end, close - end);
        if (code.find_first_of("[]") != std::string_view::npos) {
          return false;
        }
        at = std::min(rest.find_first_not_of('`', close), rest.size()) - 1;
        continue;
      }
      depth += rest[at] == '[' ? 1 : rest[at] == ']' ? -1 : 0;
      if (depth == 0) {
        return true;
      }
    }
    return false;
  }

  /// `[name]: address`, `[^1]: note`.
  static bool is_definition(std::string_view rest) { return rest.find("]:") != std::string_view::npos; }

  /// True for a command of TeX that ends on its line.
  static bool is_whole_macro(std::string_view rest) {
    constexpr std::array kOpen = {"begin", "end", "def", "gdef", "edef", "xdef", "let"};
    std::size_t end = 1;
    while (end < rest.size() && is_letter(rest[end])) {
      ++end;
    }
    const std::string_view name = rest.substr(1, end - 1);
    if (is_blank(rest.substr(end)) || std::find(kOpen.begin(), kOpen.end(), name) != kOpen.end() ||
        name.find("command") != std::string_view::npos || name.find("environment") != std::string_view::npos) {
      return false;
    }
    int braces = 0;
    int brackets = 0;
    for (const char c : rest.substr(end)) {
      braces += c == '{' ? 1 : c == '}' ? -1 : 0;
      brackets += c == '[' ? 1 : c == ']' ? -1 : 0;
    }
    return braces == 0 && brackets == 0 && rest.find_first_of("%`", end) == std::string_view::npos;
  }

  const std::string_view text_;
  const MarkdownPlace place_;
  std::string out_;
  std::optional<CodeFence> opened_;
  bool was_blank_ = true;       // the line before
  bool has_open_code_ = false;  // a run of backticks of this paragraph has no other on its line
};

}  // namespace

std::string as_markdown(std::string_view text, MarkdownPlace place) {
  return MarkdownText(text, place).make();
}

bool is_plain_markdown(std::string_view text) {
  ByteSearch marks(text, kMarks);
  for (std::size_t at = marks.next(0); at < text.size(); at = marks.next(at + 1)) {
    const char mark = text[at];
    if (mark == ':' || mark == '`') {
      if (at + 2 < text.size() && text[at + 1] == mark && text[at + 2] == mark) {
        return false;
      }
    } else if (mark == '-') {
      at = std::min(text.find_first_not_of("- \t", at), text.size());
      if (at == text.size() || text[at] == '\n' || text[at] == '\r') {
        return false;
      }
      --at;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace arborfs
