#include "tools/arborfs/markdown_colours.h"

namespace arborfs::cli {

Style MarkdownColours::style_of(std::string_view line) {
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

void MarkdownColours::add(std::string_view line, std::string& out) {
  const Style style = style_of(line);
  out += line.empty() ? "" : styled(io_, style, std::string(line));
}

void MarkdownColours::feed(std::string_view piece, std::string& out) {
  held_ += piece;
  std::size_t begin = 0;
  for (std::size_t end = held_.find('\n'); end != std::string::npos; end = held_.find('\n', begin)) {
    add(std::string_view(held_).substr(begin, end - begin), out);
    out += '\n';
    begin = end + 1;
  }
  held_.erase(0, begin);
}

void MarkdownColours::finish(std::string& out) {
  add(held_, out);
  held_.clear();
}

}  // namespace arborfs::cli
