#include "core/render/code_blocks.h"

#include <algorithm>
#include <optional>

namespace arborfs {
namespace {

constexpr std::size_t kShortestFence = 3;

struct Fence {
  std::size_t indent = 0;
  char character = '`';
  std::size_t length = 0;
  std::string_view info;  // the text after it, without white space around it
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

/// The fence that a line is; nothing for another line.
std::optional<Fence> fence_in(std::string_view line) {
  Fence fence;
  fence.indent = std::min(line.find_first_not_of(' '), line.size());
  line.remove_prefix(fence.indent);
  if (line.empty() || (line[0] != '`' && line[0] != '~')) {
    return std::nullopt;
  }
  fence.character = line[0];
  fence.length = std::min(line.find_first_not_of(fence.character), line.size());
  fence.info = trimmed(line.substr(fence.length));
  const bool is_inline_code = fence.character == '`' && fence.info.find('`') != std::string_view::npos;
  return fence.length < kShortestFence || is_inline_code ? std::nullopt : std::optional(fence);
}

bool ends(const Fence& opened, const std::optional<Fence>& fence) {
  return fence && fence->character == opened.character && fence->length >= opened.length && fence->info.empty();
}

}  // namespace

std::vector<CodeBlock> code_blocks(std::string_view markdown) {
  std::vector<CodeBlock> blocks;
  std::optional<Fence> opened;
  while (!markdown.empty()) {
    const std::size_t end = std::min(markdown.find('\n'), markdown.size());
    std::string_view line = markdown.substr(0, end);
    markdown.remove_prefix(std::min(end + 1, markdown.size()));
    const auto fence = fence_in(line);
    if (!opened && fence) {
      opened = fence;
      blocks.push_back({std::string(fence->info.substr(0, fence->info.find_first_of(" \t"))), ""});
    } else if (opened && ends(*opened, fence)) {
      opened.reset();
    } else if (opened) {
      line.remove_prefix(std::min({opened->indent, line.find_first_not_of(' '), line.size()}));
      blocks.back().text.append(line).append("\n");
    }
  }
  return blocks;
}

}  // namespace arborfs
