#include "core/render/text.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/render/chars.h"
#include "core/render/code_fence.h"
#include "core/render/record_renderer.h"
#include "core/render/value_text.h"

namespace arborfs {
namespace {

constexpr std::uint32_t kNoLength = 0xFFFFFFFF;
constexpr std::string_view kFence = "```";

std::string too_long_text(std::uint64_t length) {
  const std::string size = length < kNoLength ? std::to_string(length) + " bytes" : "4 GiB or more";
  return "This entry of " + size + " is too long to be shown as text; its JSON is in entries/.\n";
}

}  // namespace

void render_too_long(std::uint64_t length, std::string& out) {
  out += too_long_text(length);
}

std::uint64_t too_long_size(std::uint64_t length) {
  return too_long_text(length).size();
}

Result<std::string> read_text(const RecordRenderer& renderer, const LogSource& log, EntryType type,
                              std::uint64_t offset, std::uint64_t length) {
  if (length > kMaxRenderedEntry) {
    std::string out;
    render_too_long(length, out);
    return out;
  }
  ASSIGN_OR_RETURN(const auto raw, log.read(offset, length));
  std::string out;
  renderer.render(type, raw, out);
  return out;
}

std::string first_words_of_too_long(std::uint64_t length, std::size_t columns) {
  return visible_line(without_end_newlines(too_long_text(length)), columns);
}

namespace {

/// The first lines of a text but for its fences; about `enough` bytes.
std::string without_fences(std::string_view text, std::size_t enough) {
  std::string lines;
  while (!text.empty() && lines.size() < enough) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!code_fence_in(line)) {
      lines.append(line.substr(0, enough)).append("\n");
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::string first_line_of(std::string_view text, std::size_t columns) {
  constexpr std::size_t kLongestColumn = 16;  // bytes
  std::string_view head = without_end_newlines(text);
  for (;;) {
    head.remove_prefix(std::min(head.find_first_not_of(" \n\t>"), head.size()));
    if (!head.starts_with(kFence)) {
      const std::string lines = without_fences(head, columns * kLongestColumn);
      return visible_line(without_end_newlines(std::string_view(lines)), columns);
    }
    const std::string_view fence = head.substr(0, std::min(head.find_first_not_of('`'), head.size()));
    const std::size_t first_line = head.find('\n');
    head.remove_prefix(first_line == std::string_view::npos ? fence.size() : first_line);
    head = head.substr(0, head.find("\n" + std::string(fence)));
  }
}

}  // namespace arborfs
