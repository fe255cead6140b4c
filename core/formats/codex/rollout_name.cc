#include "core/formats/codex/rollout_name.h"

#include <algorithm>

namespace arborfs::codex {
namespace {

constexpr std::string_view kPrefix = "rollout-";
constexpr std::string_view kEnding = ".jsonl";
constexpr std::string_view kCompressed = ".zst";
constexpr std::string_view kDocument = ".json";
constexpr std::size_t kUuid = 36;
constexpr std::size_t kLongestTime = 32;

bool is_uuid_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_dash ? c != '-' : !is_hex) {
      return false;
    }
  }
  return text.size() == kUuid;
}

/// Removes a UUID, and the character before it, from the end of `text`; "" if there is none.
std::string take_uuid(std::string_view& text, char before) {
  if (text.size() <= kUuid || text[text.size() - kUuid - 1] != before ||
      !is_uuid_text(text.substr(text.size() - kUuid))) {
    return "";
  }
  std::string taken(text.substr(text.size() - kUuid));
  text.remove_suffix(kUuid + 1);
  return taken;
}

/// `rollout-<day>-<id>.json` without its ends (codex/FORMAT.md A2).
std::optional<RolloutName> parse_document_name(std::string_view name) {
  constexpr std::size_t kDay = std::string_view("2025-04-20").size();
  constexpr std::string_view kIdChars = "0123456789abcdef-";
  if (name.size() <= kDay + 1 || name.size() > kDay + 1 + kUuid || name[kDay] != '-' ||
      name.substr(0, kDay).find_first_not_of("0123456789-") != std::string_view::npos ||
      name.find_first_not_of(kIdChars, kDay + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string id(name.substr(kDay + 1));
  return RolloutName{.thread = id, .segment = id, .time = std::string(name.substr(0, kDay)), .is_document = true};
}

}  // namespace

std::optional<RolloutName> parse_rollout_name(std::string_view file_name) {
  if (file_name.starts_with(kPrefix) && file_name.ends_with(kDocument)) {
    return parse_document_name(file_name.substr(kPrefix.size(), file_name.size() - kPrefix.size() - kDocument.size()));
  }
  RolloutName name;
  name.is_compressed = file_name.ends_with(kCompressed);
  file_name.remove_suffix(name.is_compressed ? kCompressed.size() : 0);
  if (!file_name.starts_with(kPrefix) || !file_name.ends_with(kEnding)) {
    return std::nullopt;
  }
  file_name.remove_prefix(kPrefix.size());
  file_name.remove_suffix(std::min(kEnding.size(), file_name.size()));
  name.segment = take_uuid(file_name, '_');
  name.thread = take_uuid(file_name, '-');
  if (name.thread.empty() || file_name.empty() || file_name.size() > kLongestTime) {
    return std::nullopt;
  }
  name.segment = name.segment.empty() ? name.thread : name.segment;
  name.time = file_name;
  return name;
}

}  // namespace arborfs::codex
