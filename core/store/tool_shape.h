// What the tools of an agent do to files, and what they run: the constant data of a format.
#pragma once

#include <cstdint>
#include <string_view>

namespace arborfs {

struct ToolShape {
  enum class Does : std::uint8_t { reads, edits, writes, patches, runs };
  std::string_view tool;
  Does does = Does::reads;
  /// The member of the arguments with the file, the command (a text, or a list of words) or the patch
  /// (`*** Update File: …`). "": the arguments are that text themselves.
  std::string_view subject;
  std::string_view folder = "";  // the member with the folder in which a command runs
};

}  // namespace arborfs
