#include "core/formats/opencode/sent_parts.h"

#include <optional>

#include "core/json/document.h"
#include "core/json/json_cursor.h"

namespace arborfs::opencode {
namespace {

constexpr std::string_view kCleared = "[Old tool result content cleared]";
constexpr std::string_view kInterrupted = "[Tool execution was interrupted]";
constexpr std::string_view kAskForSummary = R"({"type":"text","text":"What did we do so far?"})";
constexpr std::string_view kSubtask = R"({"type":"text","text":"The following tool was executed by the user"})";

bool is_type(std::string_view part, std::string_view type) {
  return skim::is_string(skim::member(part, "type"), type);
}

/// "" if the part is not sent.
std::string sent_of_user(std::string_view part) {
  if (is_type(part, "text")) {
    return skim::member(part, "ignored") == "true" ? "" : std::string(part);
  }
  if (is_type(part, "file")) {
    const std::string_view mime = skim::member(part, "mime");
    const bool is_inlined = skim::is_string(mime, "text/plain") || skim::is_string(mime, "application/x-directory");
    return is_inlined ? "" : std::string(part);
  }
  return std::string(is_type(part, "compaction") ? kAskForSummary : is_type(part, "subtask") ? kSubtask : "");
}

/// Changes the state of a call to the one that the model receives; false if that is the same.
bool change_state(json::Value& state, json::Document& owner) {
  const auto status = json::string_member(state, "status");
  const auto put = [&](std::string_view key, std::string_view text) {
    json::set(state, key, json::make_string(text, owner), owner);
  };
  const json::Value* time = json::member(state, "time");
  const json::Value* metadata = json::member(state, "metadata");
  if (status == "completed" && time != nullptr && json::is_truthy(json::member(*time, "compacted"))) {
    put("output", kCleared);
    json::erase(state, "attachments");
    return true;
  }
  if (status == "pending" || status == "running") {
    put("status", "error");
    put("error", kInterrupted);
    return true;
  }
  if (status == "error" && metadata != nullptr && json::is_truthy(json::member(*metadata, "interrupted"))) {
    if (const auto output = json::string_member(*metadata, "output")) {
      const std::string copy(*output);
      put("status", "completed");
      put("output", copy);
      return true;
    }
  }
  return false;
}

std::string sent_call(std::string_view part) {
  json::Document call;
  if (!json::parse(part, call)) {
    return std::string(part);
  }
  json::Value* state = json::member(static_cast<json::Value&>(call), "state");
  return state != nullptr && state->IsObject() && change_state(*state, call) ? json::stringify(call)
                                                                             : std::string(part);
}

std::string sent_of_assistant(std::string_view part) {
  if (is_type(part, "tool")) {
    return sent_call(part);
  }
  const bool is_sent = is_type(part, "text") || is_type(part, "reasoning") || is_type(part, "step-start");
  return is_sent ? std::string(part) : "";
}

}  // namespace

std::string sent_message(std::string_view entry, std::string_view end_part) {
  const std::string_view info = skim::member(entry, "info");
  const bool is_user = skim::is_string(skim::member(info, "role"), "user");
  std::string parts;
  bool says_anything = false;
  for (skim::Cursor cursor(skim::member(entry, "parts")); cursor.next();) {
    const std::string_view part = cursor.value();
    if (!end_part.empty() && skim::is_string(skim::member(part, "id"), end_part)) {
      break;
    }
    const std::string sent = is_user ? sent_of_user(part) : sent_of_assistant(part);
    if (!sent.empty()) {
      parts.append(parts.empty() ? "" : ",").append(sent);
      says_anything = says_anything || !is_type(part, "step-start");
    }
  }
  return says_anything ? R"({"info":)" + std::string(info) + R"(,"parts":[)" + parts + "]}" : "";
}

bool is_failed_answer(std::string_view entry) {
  const std::string_view error = skim::member(skim::member(entry, "info"), "error");
  if (!error.starts_with('{')) {
    return false;
  }
  const bool is_aborted = skim::is_string(skim::member(error, "name"), "MessageAbortedError");
  for (skim::Cursor cursor(skim::member(entry, "parts")); is_aborted && cursor.next();) {
    if (!is_type(cursor.value(), "step-start") && !is_type(cursor.value(), "reasoning")) {
      return false;
    }
  }
  return true;
}

}  // namespace arborfs::opencode
