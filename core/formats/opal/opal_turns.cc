// Translates messages into turns of a conversation (opal/FORMAT.md B3).
#include <string>
#include <utility>

#include "core/formats/opal/opal_renderer.h"
#include "core/json/document.h"

namespace arborfs::opal {
namespace {

using Kind = TurnPart::Kind;

std::string text_in(const json::Value& record, std::string_view key) {
  return std::string(json::string_member(record, key).value_or(""));
}

void add_calls_to(Turn& turn, const json::Value* calls) {
  if (calls == nullptr || !calls->IsArray()) {
    return;
  }
  for (const json::Value& call : calls->GetArray()) {
    const json::Value* arguments = json::member(call, "arguments");
    turn.add_call(text_in(call, "call_id"), text_in(call, "name"),
                  arguments == nullptr ? "{}" : json::stringify(*arguments));
  }
}

}  // namespace

bool Renderer::add_turns_of(const SpokenEntry& entry, const json::Value& record, std::vector<Turn>& turns) const {
  const auto role = json::string_member(record, "role").value_or("");
  Turn turn;
  turn.time_ms = entry.time_ms;
  if (role == "system") {
    return true;
  }
  if (role == "tool_result") {
    turn.speaker = Turn::Speaker::tool;
    turn.parts.push_back({Kind::tool_result, text_in(record, "content"), text_in(record, "call_id"),
                          text_in(record, "name"), json::is_truthy(json::member(record, "is_error"))});
  } else if (role == "tool_call") {
    turn.speaker = Turn::Speaker::assistant;
    turn.add_call(text_in(record, "call_id"), text_in(record, "name"), text_in(record, "content"));
  } else if (role == "user" || role == "assistant") {
    turn.speaker = role == "user" ? Turn::Speaker::user : Turn::Speaker::assistant;
    turn.add(Kind::reasoning, text_in(record, "thinking"));
    turn.add(Kind::text, text_in(record, "content"));
    add_calls_to(turn, json::member(record, "tool_calls"));
  } else {
    return false;
  }
  turns.push_back(std::move(turn));
  return true;
}

}  // namespace arborfs::opal
