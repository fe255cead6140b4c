#include "core/render/code_blocks.h"

#include <algorithm>
#include <optional>

#include "core/render/code_fence.h"

namespace arborfs {

std::vector<CodeBlock> code_blocks(std::string_view markdown) {
  std::vector<CodeBlock> blocks;
  std::optional<CodeFence> opened;
  while (!markdown.empty()) {
    const std::size_t end = std::min(markdown.find('\n'), markdown.size());
    std::string_view line = markdown.substr(0, end);
    markdown.remove_prefix(std::min(end + 1, markdown.size()));
    const auto fence = code_fence_in(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
    if (!opened && fence) {
      opened = fence;
      blocks.push_back({std::string(fence->info.substr(0, fence->info.find_first_of(" \t"))), ""});
    } else if (opened && fence && fence->closes(*opened)) {
      opened.reset();
    } else if (opened) {
      line.remove_prefix(std::min({opened->indent, line.find_first_not_of(' '), line.size()}));
      blocks.back().text.append(line).append("\n");
    }
  }
  return blocks;
}

}  // namespace arborfs
