// The fenced code blocks of a Markdown text. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace arborfs {

struct CodeBlock {
  std::string language;  // the first word after the fence, "" for none
  std::string text;      // its lines, each with its newline
};

/// The blocks between fences of three or more backticks or tildes, by the rules of CommonMark: a block ends at a fence
/// of the same character that is at least as long, or at the end of the text. A fence may be indented by any number of
/// spaces, as in a list; that many are removed from the lines of its block.
std::vector<CodeBlock> code_blocks(std::string_view markdown);

}  // namespace arborfs
