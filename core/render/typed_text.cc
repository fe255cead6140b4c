#include "core/render/typed_text.h"

#include <algorithm>
#include <optional>

#include "core/base/stripped.h"

namespace arborfs {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

struct Element {
  std::string_view content;
  std::size_t end = 0;  // behind it
};

/// The element of this name that begins at `at`.
std::optional<Element> element_at(std::string_view text, std::size_t at, std::string_view name) {
  const std::string_view behind = text.substr(at);
  const std::size_t opened = 1 + name.size();
  const bool is_named = behind.starts_with('<') && behind.substr(1).starts_with(name) && behind.size() > opened &&
                        (behind[opened] == '>' || kSpace.find(behind[opened]) != std::string_view::npos);
  const std::size_t begin = is_named ? behind.find('>', opened) : std::string_view::npos;
  if (begin == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string closing = "</" + std::string(name) + ">";
  const std::size_t end = behind.find(closing, begin);
  const std::string_view content = behind.substr(begin + 1, end == std::string_view::npos ? end : end - begin - 1);
  return Element{content, end == std::string_view::npos ? text.size() : at + end + closing.size()};
}

}  // namespace

std::string without_elements(std::string_view text, std::span<const std::string_view> names) {
  std::string kept;
  std::size_t from = 0;
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at)) {
    std::optional<Element> found;
    for (std::size_t i = 0; i < names.size() && !found; ++i) {
      found = element_at(text, at, names[i]);
    }
    if (!found) {
      ++at;
      continue;
    }
    kept += text.substr(from, at - from);
    at = from = found->end;
  }
  kept += text.substr(std::min(from, text.size()));
  return std::string(stripped(kept));
}

std::string_view element_in(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    if (const auto found = element_at(text, at, name)) {
      return stripped(found->content);
    }
  }
  return {};
}

}  // namespace arborfs
