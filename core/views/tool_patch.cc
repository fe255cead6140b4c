#include "core/views/tool_patch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/words.h"

namespace arborfs {
namespace {

constexpr std::string_view kEndOfFile = "*** End of File";
constexpr std::string_view kMoveTo = "*** Move to: ";

using Lines = std::vector<std::string>;
using Same = bool (*)(std::string_view, std::string_view);

std::string_view without_end(std::string_view line) {
  return line.substr(0, line.find_last_not_of(" \t\r") + 1);
}

/// How a line is looked for: exactly first, then more and more loosely.
constexpr std::array<Same, 3> kComparisons = {
    [](std::string_view left, std::string_view right) { return left == right; },
    [](std::string_view left, std::string_view right) { return without_end(left) == without_end(right); },
    [](std::string_view left, std::string_view right) { return stripped(left, " \t\r") == stripped(right, " \t\r"); }};

/// Where the wanted lines stand in `lines`, at `from` or later.
std::optional<std::size_t> find_lines(const Lines& lines, std::span<const std::string> wanted, std::size_t from,
                                      bool is_last) {
  if (wanted.size() > lines.size()) {
    return std::nullopt;
  }
  const std::size_t last = lines.size() - wanted.size();
  for (const Same same : kComparisons) {
    for (std::size_t at = is_last ? last : from; at <= last; ++at) {
      if (std::equal(wanted.begin(), wanted.end(), lines.begin() + static_cast<std::ptrdiff_t>(at), same)) {
        return at;
      }
    }
  }
  return std::nullopt;
}

/// Reads the lines below the name of a file.
void add_line(PatchedFile& file, std::string_view line) {
  if (file.does == PatchedFile::Does::adds) {
    if (line.starts_with('+')) {
      file.added.append(line.substr(1)).append("\n");
    }
    return;
  }
  const bool is_empty = file.chunks.empty() || (file.chunks.back().before.empty() && file.chunks.back().after.empty());
  if (line.starts_with(kMoveTo)) {
    file.moved_to = without_end(line.substr(kMoveTo.size()));
  } else if (line.starts_with(kEndOfFile)) {
    if (!file.chunks.empty()) {
      file.chunks.back().is_last = true;
    }
  } else if (line.starts_with("@@")) {
    file.chunks.emplace_back();
    if (line.starts_with("@@ ")) {
      file.chunks.back().below = line.substr(3);
    }
  } else if (line.empty() || line.front() == ' ' || line.front() == '-' || line.front() == '+') {
    if (is_empty && file.chunks.empty()) {
      if (line.empty()) {
        return;
      }
      file.chunks.emplace_back();
    }
    const std::string text(line.substr(line.empty() ? 0 : 1));
    if (!line.starts_with('+')) {
      file.chunks.back().before.push_back(text);
    }
    if (!line.starts_with('-')) {
      file.chunks.back().after.push_back(text);
    }
  }
}

}  // namespace

std::vector<std::string> lines_in(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<PatchedFile> files_of_patch(std::string_view text) {
  constexpr std::pair<std::string_view, PatchedFile::Does> kMarks[] = {
      {"*** Update File: ", PatchedFile::Does::updates},
      {"*** Add File: ", PatchedFile::Does::adds},
      {"*** Delete File: ", PatchedFile::Does::removes}};
  std::vector<PatchedFile> files;
  bool is_open = false;
  for (const std::string& line : lines_in(text)) {
    const auto* const mark = std::find_if(std::begin(kMarks), std::end(kMarks),
                                          [&](const auto& known) { return line.starts_with(known.first); });
    if (mark != std::end(kMarks)) {
      files.emplace_back();
      files.back().does = mark->second;
      files.back().path = without_end(std::string_view(line).substr(mark->first.size()));
      is_open = true;
    } else if (line.starts_with("*** End Patch")) {
      is_open = false;
    } else if (is_open) {
      add_line(files.back(), line);
    }
  }
  return files;
}

std::optional<std::string> patched(std::string_view text, std::span<const PatchChunk> chunks) {
  struct Replacement {
    std::size_t at;
    std::size_t count;
    std::span<const std::string> by;
  };
  const Lines lines = lines_in(text);
  std::vector<Replacement> replacements;
  std::size_t next = 0;
  for (const PatchChunk& chunk : chunks) {
    if (chunk.below) {
      const auto above = find_lines(lines, std::span(&*chunk.below, 1), next, false);
      if (!above) {
        return std::nullopt;
      }
      next = *above + 1;
    }
    std::span<const std::string> wanted(chunk.before);
    std::span<const std::string> by(chunk.after);
    if (wanted.empty()) {
      replacements.push_back({lines.size(), 0, by});
      continue;
    }
    auto found = find_lines(lines, wanted, next, chunk.is_last);
    if (!found && wanted.back().empty()) {
      // The empty line is what follows the last line feed.
      wanted = wanted.first(wanted.size() - 1);
      by = !by.empty() && by.back().empty() ? by.first(by.size() - 1) : by;
      found = find_lines(lines, wanted, next, chunk.is_last);
    }
    if (!found) {
      return std::nullopt;
    }
    replacements.push_back({*found, wanted.size(), by});
    next = *found + wanted.size();
  }
  std::stable_sort(replacements.begin(), replacements.end(),
                   [](const Replacement& left, const Replacement& right) { return left.at < right.at; });
  std::string result;
  std::size_t line = 0;
  for (const Replacement& replacement : replacements) {
    if (replacement.at < line) {
      return std::nullopt;
    }
    for (; line < replacement.at; ++line) {
      result.append(lines[line]).append("\n");
    }
    for (const std::string& added : replacement.by) {
      result.append(added).append("\n");
    }
    line += replacement.count;
  }
  for (; line < lines.size(); ++line) {
    result.append(lines[line]).append("\n");
  }
  return result;
}

}  // namespace arborfs
