#include "core/writer/command_objects.h"

#include <algorithm>
#include <string>

#include "core/base/result_macros.h"
#include "core/json/scan.h"
#include "core/json/utf8.h"

namespace arborfs {

Error refused_object(std::size_t number, std::string_view why) {
  return {Errc::invalid_argument, "object " + std::to_string(number) + ": " + std::string(why)};
}

bool CommandOptions::take(std::string_view key, const json::Value& value) {
  if (key == "ifLeaf" && value.IsString()) {
    if_leaf = json::as_string(value);
    return true;
  }
  if (key == "force" && value.IsBool()) {
    force = force || value.IsTrue();
    return true;
  }
  return false;
}

Result<std::string_view> message_text(std::string_view text) {
  text.remove_suffix(text.ends_with('\n') ? 1 : 0);
  return text.empty() ? Result<std::string_view>(Errc::invalid_argument, "the message is empty") : text;
}

Result<void> check_append_text(const AppendText& text) {
  if (text.text.size() > kMaxCommandBytes) {
    return {Errc::too_large, "an append may have at most 64 MiB"};
  }
  if (!json::is_valid_utf8(text.text)) {
    return {Errc::not_utf8, "the text is not UTF-8"};
  }
  return {};
}

Result<void> each_object(std::string_view text, const std::function<Result<void>(const json::Value& object)>& take) {
  for (std::size_t number = 1;; ++number) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.empty()) {
      return number > 1 ? Result<void>() : Error{Errc::invalid_argument, "there is no message to append"};
    }
    const auto end = json::scan_value(text, 0);
    json::Document object;
    if (end.verdict != json::ValueScanner::Verdict::value || !json::parse(text.substr(0, end.end), object) ||
        !object.IsObject()) {
      return refused_object(number, "it is not a JSON object");
    }
    RETURN_IF_ERROR(take(object));
    text.remove_prefix(end.end);
  }
}

}  // namespace arborfs
