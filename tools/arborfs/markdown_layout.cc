#include "tools/arborfs/markdown_layout.h"

#include <algorithm>

#include "core/base/columns.h"

namespace arborfs::cli {

Style MarkdownLayout::style_of(std::string_view line) {
  const auto fence = code_fence_in(line);
  if (fence_) {
    if (fence && fence->closes(*fence_)) {
      fence_.reset();
      return Style::dim;
    }
    return Style::plain;
  }
  if (fence) {
    fence_ = fence;
    fence_->info = {};
    return Style::dim;
  }
  return line.starts_with("## user ")        ? Style::cyan
         : line.starts_with("## assistant ") ? Style::green
         : line.starts_with("#")             ? Style::bold
         : line.starts_with("> ")            ? Style::dim
                                             : Style::plain;
}

/// The line in lines of the screen's width. Those of a quotation and of a list's item begin as the first one does.
std::vector<std::string> MarkdownLayout::broken(std::string_view line) const {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::string_view text = line.substr(indent);
  const bool is_quoted = text.starts_with("> ");
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::size_t mark = is_quoted || text.starts_with("- ") || text.starts_with("* ") ? 2
                           : digits > 0 && text.substr(digits).starts_with(". ")         ? digits + 2
                                                                                         : 0;
  const std::string before(line.substr(0, indent + mark));
  if (fence_ || columns_of(line) <= width_ || before.size() >= width_ / 2) {
    return {std::string(line)};
  }
  auto parts = lines_of_columns(text.substr(mark), width_ - before.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].insert(0, i == 0 || is_quoted ? before : std::string(before.size(), ' '));
  }
  return parts;
}

void MarkdownLayout::add(std::string_view line, std::string& out) {
  const Style style = style_of(line);
  if (line.empty()) {
    return;
  }
  std::string_view between;
  for (const std::string& part : width_ == 0 ? std::vector<std::string>{std::string(line)} : broken(line)) {
    out.append(between) += styled(io_, style, part);
    between = "\n";
  }
}

void MarkdownLayout::feed(std::string_view piece, std::string& out) {
  held_ += piece;
  std::size_t begin = 0;
  for (std::size_t end = held_.find('\n'); end != std::string::npos; end = held_.find('\n', begin)) {
    add(std::string_view(held_).substr(begin, end - begin), out);
    out += '\n';
    begin = end + 1;
  }
  held_.erase(0, begin);
}

void MarkdownLayout::finish(std::string& out) {
  add(held_, out);
  held_.clear();
}

}  // namespace arborfs::cli
