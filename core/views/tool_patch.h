// The patches that models write: `*** Begin Patch`, a list of files with changes that name lines by their contents, not
// by their numbers. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace arborfs {

/// Lines that stand there one after the other, and what becomes of them. Lines are without their line feeds.
struct PatchChunk {
  std::optional<std::string> below;  // a line somewhere above: the chunk is searched below it
  std::vector<std::string> before;   // none: the lines after are added at the end of the file
  std::vector<std::string> after;
  bool is_last = false;  // the lines are the last ones of the file
};

struct PatchedFile {
  enum class Does : std::uint8_t { updates, adds, removes };
  Does does = Does::updates;
  std::string path;      // as the patch has it
  std::string moved_to;  // "" if the file keeps its name
  std::string added;     // of a file that is added: its contents
  std::vector<PatchChunk> chunks;
};

/// The files that a text with a patch names, in its order. Lines that no patch has are passed over.
std::vector<PatchedFile> files_of_patch(std::string_view text);

/// The text with the changes, as apply_patch of Codex and OpenCode makes them: lines may differ in the white space
/// around them, and the last line ends in a line feed. Nothing if the text does not have the lines.
std::optional<std::string> patched(std::string_view text, std::span<const PatchChunk> chunks);

/// The lines of a text, without their line feeds. A line feed at the end begins no further line.
std::vector<std::string> lines_in(std::string_view text);

}  // namespace arborfs
