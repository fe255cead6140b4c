#include "core/writer/accepted_parts.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace arborfs {
namespace {

constexpr std::size_t kLongestName = 128;

std::string_view type_of_bytes(std::string_view bytes) {
  using namespace std::literals;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) {
    return "image/png";
  }
  if (bytes.starts_with("\xff\xd8\xff"sv)) {
    return "image/jpeg";
  }
  if (bytes.starts_with("GIF87a"sv) || bytes.starts_with("GIF89a"sv)) {
    return "image/gif";
  }
  return bytes.starts_with("RIFF"sv) && bytes.substr(std::min<std::size_t>(bytes.size(), 8)).starts_with("WEBP"sv)
             ? "image/webp"
             : "";
}

}  // namespace

std::string accepted_image_type(std::string_view bytes, std::string_view told) {
  if (const auto type = type_of_bytes(bytes); !type.empty()) {
    return std::string(type);
  }
  std::string type(told.substr(0, told.find(';')));
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  if (type.empty()) {
    return "image/png";
  }
  if (type == "image/jpg") {
    return "image/jpeg";
  }
  constexpr std::array<std::string_view, 4> kTypes = {"image/png", "image/jpeg", "image/gif", "image/webp"};
  return std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end() ? "" : type;
}

std::string accepted_tool_name(std::string_view name) {
  std::string accepted;
  for (const char c : name) {
    const bool is_continued = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    if (is_continued) {
      continue;
    }
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    accepted += is_plain || c == '-' ? c : '_';
  }
  accepted.resize(std::min(accepted.size(), kLongestName));
  return accepted.empty() ? "unknown" : accepted;
}

}  // namespace arborfs
