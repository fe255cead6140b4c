#include "core/formats/opal/new_lines.h"

#include <sys/random.h>

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/json/document.h"
#include "core/json/change_member.h"
#include "core/json/utf8.h"
#include "core/write/command_text.h"

namespace arborfs::opal {
namespace {

constexpr std::array<std::string_view, 5> kRoles = {"system", "user", "assistant", "tool_call", "tool_result"};

std::string user_members(std::string_view content) {
  return R"("role":"user","content":)" + json::stringify_string(content) + R"(,"is_error":false})";
}

/// Why Opal could not read a member of a message; "" if it could.
std::string_view problem_of(std::string_view key, const json::Value& value) {
  if (key == "content") {
    return value.IsString() || value.IsNull() ? "" : "content must be a string or null";
  }
  if (key == "is_error") {
    return value.IsBool() ? "" : "is_error must be true or false";
  }
  if (key == "tool_calls") {
    return value.IsArray() ? "" : "tool_calls must be an array";
  }
  if (key == "metadata") {
    return value.IsObject() ? "" : "metadata must be an object";
  }
  if (key == "call_id" || key == "name" || key == "thinking") {
    return value.IsString() ? "" : "call_id, name and thinking must be strings";
  }
  return "it has a member that messages of Opal do not have, or that arborfs sets";
}

/// True if JSON text as json::stringify writes it has half of a surrogate pair: only that is spelled \udXXX.
bool has_lone_surrogate(std::string_view text) {
  for (std::size_t at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at + 2)) {
    if (text.substr(at + 1, 2) == "ud") {
      return true;
    }
  }
  return false;
}

/// Twice as many lower-case hex digits as bytes.
template <std::size_t kBytes>
Result<std::string> hex_digits() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, kBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Error{Errc::io, "the system provides no random numbers"};
  }
  std::string digits;
  for (const unsigned char byte : bytes) {
    digits += kDigits[byte >> 4U];
    digits += kDigits[byte & 15U];
  }
  return digits;
}

Result<void> take_object(const json::Value& object, NewMessages& messages) {
  const std::size_t number = messages.members.size() + 1;
  const auto role = json::string_member(object, "role");
  if (!role || std::find(kRoles.begin(), kRoles.end(), *role) == kRoles.end()) {
    return refused_object(number, "role must be system, user, assistant, tool_call or tool_result");
  }
  std::string text = "\"role\":" + json::stringify_string(*role);
  for (const auto& member : json::members(object)) {
    const std::string_view key = json::as_string(member.name);
    if (key != "role" && !messages.take(key, member.value)) {
      if (const auto problem = problem_of(key, member.value); !problem.empty()) {
        return refused_object(number, problem);
      }
      text += "," + json::stringify_string(key) + ":" + json::stringify(member.value);
    }
  }
  text += json::member(object, "content") == nullptr ? ",\"content\":null" : "";
  text += json::member(object, "is_error") == nullptr ? ",\"is_error\":false" : "";
  if (has_lone_surrogate(text)) {
    return refused_object(number, "it has half of a surrogate pair, with which Opal cannot load the session");
  }
  messages.members.push_back(text + "}");
  return {};
}

Result<void> take_text(std::string_view text, NewMessages& messages) {
  ASSIGN_OR_RETURN(const auto words, message_text(text));
  messages.members.push_back(user_members(words));
  return {};
}

}  // namespace

Result<NewMessages> new_messages(const AppendText& text) {
  NewMessages messages;
  RETURN_IF_ERROR(check_append_text(text));
  RETURN_IF_ERROR(text.is_json
                      ? each_object(text.text, [&](const json::Value& object) { return take_object(object, messages); })
                      : take_text(text.text, messages));
  return messages;
}

Result<NewMessages> new_messages_of(const std::vector<std::string>& objects) {
  std::string text;
  for (const std::string& object : objects) {
    text += object + "\n";
  }
  return objects.empty() ? Result<NewMessages>(NewMessages()) : new_messages({std::move(text), true, ""});
}

std::string branch_summary(std::string_view text, std::string_view from_leaf) {
  const std::string content =
      "[Branch context] The following is a summary of a branch that was explored and returned from:\n\n"
      "<branch-summary>\n" +
      std::string(text) +
      "\n</branch-summary>\n\nThis exploration was abandoned. Consider what was learned when proceeding.";
  std::string members = user_members(content);
  members.pop_back();
  return members + R"(,"metadata":{"type":"branch_summary","from_leaf":)" +
         (from_leaf.empty() ? "null" : json::stringify_string(from_leaf)) + "}}";
}

std::string message_line(std::string_view id, std::string_view parent, std::string_view members) {
  return "{\"id\":" + json::stringify_string(id) +
         ",\"parent_id\":" + (parent.empty() ? "null" : json::stringify_string(parent)) + "," + std::string(members) +
         "\n";
}

Result<std::string> new_message_id() {
  return hex_digits<8>();
}

Result<std::string> new_session_id() {
  return hex_digits<16>();
}

std::string header_line(std::string_view id, std::string_view metadata) {
  return R"({"current_id":null,"metadata":)" + std::string(metadata) + R"(,"session_id":)" +
         json::stringify_string(id) + "}\n";
}

}  // namespace arborfs::opal
