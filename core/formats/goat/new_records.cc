#include "core/formats/goat/new_records.h"

#include <algorithm>
#include <array>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/write/command_text.h"
#include "core/write/new_file.h"

namespace arborfs::goat {
namespace {

constexpr std::array<std::string_view, 4> kRoles = {"system", "user", "assistant", "tool"};
constexpr std::size_t kLongestFrame = 256;  // what message_line() adds

/// True for a part of a content: a text or an image (goat/FORMAT.md C2).
bool is_part(const json::Value& part) {
  if (json::string_member(part, "type") == "text") {
    return json::string_member(part, "text").has_value();
  }
  const json::Value* image = json::member(part, "image_url");
  return json::string_member(part, "type") == "image_url" && image != nullptr && json::string_member(*image, "url");
}

bool is_content(const json::Value& content) {
  return content.IsString() || content.IsNull() ||
         (content.IsArray() && std::all_of(content.Begin(), content.End(), is_part));
}

bool is_call(const json::Value& call) {
  const json::Value* function = json::member(call, "function");
  return json::string_member(call, "id") && function != nullptr && json::string_member(*function, "name") &&
         json::string_member(*function, "arguments");
}

bool is_list_of_calls(const json::Value& calls) {
  return calls.IsArray() && std::all_of(calls.Begin(), calls.End(), is_call);
}

/// Why goat could not read a member of a message; "" if it could.
std::string_view problem_of(std::string_view key, const json::Value& value) {
  if (key == "content") {
    return is_content(value) ? "" : "content must be a string, null, or a list of texts and images";
  }
  if (key == "tool_calls") {
    return is_list_of_calls(value) ? ""
                                   : "tool_calls must be a list of calls with id, function.name and "
                                     "function.arguments, which is a text";
  }
  if (key == "tool_call_id" || key == "name") {
    return value.IsString() ? "" : "tool_call_id and name must be strings";
  }
  return "it has a member that messages of goat do not have, or that arborfs sets";
}

Result<NewRecords::Record> message_of(const json::Value& object, std::size_t number, NewRecords& records) {
  const auto role = json::string_member(object, "role");
  if (!role || std::find(kRoles.begin(), kRoles.end(), *role) == kRoles.end()) {
    return refused_object(number, "role must be system, user, assistant or tool");
  }
  std::string rest;
  std::string content = "null";
  for (const auto& member : json::members(object)) {
    const std::string_view key = json::as_string(member.name);
    if (key == "role" || records.take(key, member.value)) {
      continue;
    }
    if (const auto problem = problem_of(key, member.value); !problem.empty()) {
      return refused_object(number, problem);
    }
    if (key == "content") {
      content = json::stringify(member.value);
    } else {
      rest += "," + json::stringify_string(key) + ":" + json::stringify(member.value);
    }
  }
  ASSIGN_OR_RETURN(auto id, new_uuid());
  return NewRecords::Record{
      std::move(id), go_text("{\"role\":" + json::stringify_string(*role) + ",\"content\":" + content + rest + "}")};
}

/// The user chooses everything except `uuid` and `session_id`.
Result<NewRecords::Record> transcript_of(const json::Value& object, std::size_t number, const std::string& session_id,
                                         NewRecords& records) {
  const auto given = json::string_member(object, "uuid");
  if (json::member(object, "uuid") != nullptr && (!given || given->empty())) {
    return refused_object(number, "uuid must be a string");
  }
  ASSIGN_OR_RETURN(auto id, new_uuid());
  id = given ? std::string(*given) : std::move(id);
  std::string text = "{\"type\":" + json::stringify_string(*json::string_member(object, "type")) +
                     ",\"uuid\":" + json::stringify_string(id) +
                     ",\"session_id\":" + json::stringify_string(session_id);
  for (const auto& member : json::members(object)) {
    const std::string_view key = json::as_string(member.name);
    const bool is_set = key == "type" || key == "uuid" || key == "session_id";
    if (!is_set && !records.take(key, member.value)) {
      text += "," + json::stringify_string(key) + ":" + json::stringify(member.value);
    }
  }
  return NewRecords::Record{std::move(id), go_text(text + "}")};
}

Result<void> take_object(const json::Value& object, const std::string& session_id, NewRecords& records) {
  const std::size_t number = records.records.size() + 1;
  const bool is_transcript = json::member(object, "role") == nullptr && json::string_member(object, "type");
  if (number > 1 && is_transcript != records.is_transcript) {
    return refused_object(number,
                          "messages and records of the transcript go to different files; use separate commands");
  }
  records.is_transcript = is_transcript;
  if (is_transcript && json::member(object, "ifLeaf") != nullptr) {
    return refused_object(number, "ifLeaf does not apply to records of the transcript");
  }
  ASSIGN_OR_RETURN(auto record, is_transcript ? transcript_of(object, number, session_id, records)
                                              : message_of(object, number, records));
  if (record.json.size() + kLongestFrame > kLongestLine) {
    return Error{Errc::too_large,
                 "object " + std::to_string(number) + ": goat cannot load a session with a line of more than 10 MiB"};
  }
  records.records.push_back(std::move(record));
  return {};
}

Result<void> take_text(std::string_view text, NewRecords& records) {
  ASSIGN_OR_RETURN(const auto words, message_text(text));
  ASSIGN_OR_RETURN(auto id, new_uuid());
  records.records.push_back({std::move(id), "{\"role\":\"user\",\"content\":" + go_literal(words) + "}"});
  if (records.records.back().json.size() + kLongestFrame > kLongestLine) {
    return Error{Errc::too_large, "goat cannot load a session with a line of more than 10 MiB"};
  }
  return {};
}

}  // namespace

Result<NewRecords> new_records(const AppendText& text, const std::string& session_id) {
  NewRecords records;
  RETURN_IF_ERROR(check_append_text(text));
  RETURN_IF_ERROR(
      text.is_json
          ? each_object(text.text, [&](const json::Value& object) { return take_object(object, session_id, records); })
          : take_text(text.text, records));
  return records;
}

std::string message_line(Shape shape, const NewRecords::Record& record, std::string_view timestamp) {
  std::string line =
      "{\"uuid\":" + json::stringify_string(record.id) + ",\"timestamp\":" + json::stringify_string(timestamp) + ",";
  line += shape == Shape::nested ? "\"message\":" + record.json + "}" : record.json.substr(1);
  return line + "\n";
}

std::string go_text(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (std::size_t at = 0; at < json.size(); ++at) {
    const std::string_view rest = json.substr(at);
    if (rest.front() == '<' || rest.front() == '>' || rest.front() == '&') {
      text += rest.front() == '<' ? "\\u003c" : rest.front() == '>' ? "\\u003e" : "\\u0026";
    } else if (rest.starts_with("\u2028") || rest.starts_with("\u2029")) {
      text += rest.starts_with("\u2028") ? "\\u2028" : "\\u2029";
      at += 2;
    } else {
      text += rest.front();
    }
  }
  return text;
}

std::string go_literal(std::string_view utf8) {
  return go_text(json::stringify_string(utf8));
}

std::string timestamp_now() {
  return json::iso_time(now_ms());
}

}  // namespace arborfs::goat
