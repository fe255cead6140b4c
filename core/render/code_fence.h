// The lines around a block of code in Markdown. Pure functions, any thread.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

namespace arborfs {

/// A line that opens or closes a block: three or more backticks or tildes (CommonMark).
struct CodeFence {
  std::size_t indent = 0;  // spaces
  char character = '`';
  std::size_t length = 0;
  std::string_view info;  // the words after it, without white space around them

  /// True if it closes a block that `opened` opened.
  [[nodiscard]] bool closes(const CodeFence& opened) const {
    return character == opened.character && length >= opened.length && info.empty();
  }
};

/// The fence that a line is, whatever its indentation; nothing for another line.
inline std::optional<CodeFence> code_fence_in(std::string_view line) {
  constexpr std::size_t kShortest = 3;
  constexpr std::string_view kBlank = " \t";
  CodeFence fence;
  fence.indent = std::min(line.find_first_not_of(' '), line.size());
  line.remove_prefix(fence.indent);
  if (line.empty() || (line[0] != '`' && line[0] != '~')) {
    return std::nullopt;
  }
  fence.character = line[0];
  fence.length = std::min(line.find_first_not_of(fence.character), line.size());
  line.remove_prefix(fence.length);
  const std::size_t begin = std::min(line.find_first_not_of(kBlank), line.size());
  fence.info = line.substr(begin, std::max(line.find_last_not_of(kBlank) + 1, begin) - begin);
  const bool is_inline_code = fence.character == '`' && fence.info.find('`') != std::string_view::npos;
  return fence.length < kShortest || is_inline_code ? std::nullopt : std::optional(fence);
}

}  // namespace arborfs
