#include "core/writer/title_text.h"

#include <algorithm>

#include "core/json/utf8.h"

namespace arborfs {

std::string one_line_title(std::string_view title) {
  std::string text(title);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

Result<std::string> checked_title(std::string_view title) {
  if (!json::is_valid_utf8(title)) {
    return Error{Errc::not_utf8, "the title is not UTF-8"};
  }
  std::string wanted = one_line_title(title);
  if (wanted.empty()) {
    return Error{Errc::invalid_argument, "the title is empty"};
  }
  if (title.size() > kLongestTitle) {
    return Error{Errc::too_large, "a title may have at most 64 KiB"};
  }
  return wanted;
}

}  // namespace arborfs
