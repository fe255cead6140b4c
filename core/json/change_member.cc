#include "core/json/change_member.h"

#include "core/json/json_cursor.h"
#include "core/json/scan.h"

namespace arborfs::json {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

/// The offset of the opening brace of a text that is one JSON object; npos if it is not.
std::size_t object_begin(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos || text[begin] != '{') {
    return std::string_view::npos;
  }
  const auto [verdict, end] = scan_value(text, begin);
  const bool is_whole =
      verdict == ValueScanner::Verdict::value && text.find_first_not_of(kSpace, end) == std::string_view::npos;
  return is_whole ? begin : std::string_view::npos;
}

/// The offset in `text` of a piece of it.
std::size_t offset_in(std::string_view text, std::string_view piece) {
  return static_cast<std::size_t>(piece.data() - text.data());
}

/// Each member that stays keeps the text between it and the next one.
std::string without(std::string_view object, std::size_t begin, std::string_view key) {
  std::string out;
  std::string_view gap;
  std::size_t end = 0;
  bool stays = true;
  for (skim::Cursor member(object.substr(begin)); member.next();) {
    const std::size_t at = offset_in(object, member.key()) - 1;
    gap = stays ? object.substr(end, at - end) : gap;
    end = offset_in(object, member.value()) + member.value().size();
    stays = !member.key_is(key);
    if (stays) {
      out.append(gap).append(object.substr(at, end - at));
    }
  }
  return (out.empty() ? std::string(gap) : out).append(object.substr(end));
}

}  // namespace

Result<std::string> change_member(std::string_view object, std::string_view key,
                                  std::optional<std::string_view> value_json) {
  const std::size_t begin = object_begin(object);
  if (begin == std::string_view::npos) {
    return {Errc::invalid_argument, "cannot change a member: the text is not one JSON object"};
  }
  if (!value_json) {
    return without(object, begin, key);
  }
  return std::string(object.substr(0, begin)) + skim::set_member(std::string(object.substr(begin)), key, *value_json);
}

}  // namespace arborfs::json
