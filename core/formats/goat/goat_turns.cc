// Translates messages into turns of a conversation (goat/FORMAT.md C2, C3).
#include <string>
#include <utility>

#include "core/formats/goat/go_json.h"
#include "core/formats/goat/goat_renderer.h"
#include "core/json/document.h"

namespace arborfs::goat {
namespace {

using Kind = TurnPart::Kind;

/// Calls take(part) for each part of a content; a text is a single part.
template <class Take>
void each_part(const json::Value* content, const Take& take) {
  if (content == nullptr || content->IsNull()) {
    return;
  }
  if (!content->IsArray()) {
    return take(TurnPart{Kind::text, content->IsString() ? go_string(content) : json::stringify(*content)});
  }
  for (const json::Value& part : content->GetArray()) {
    const json::Value* image = go_member(part, "image_url");
    if (go_string(go_member(part, "type")) == "text") {
      take(TurnPart{Kind::text, go_string(go_member(part, "text"))});
    } else if (image != nullptr && image->IsObject()) {
      take(TurnPart{Kind::image, "", "", "", false, {image_of_url(go_string(go_member(*image, "url")))}});
    } else {
      take(TurnPart{Kind::text, json::stringify(part)});
    }
  }
}

TurnPart result_in(const json::Value& body) {
  TurnPart result{Kind::tool_result, "", go_string(go_member(body, "tool_call_id")),
                  go_string(go_member(body, "name"))};
  each_part(go_member(body, "content"), [&](TurnPart part) {
    if (part.kind == Kind::image) {
      result.images.push_back(std::move(part.images.front()));
    } else {
      result.text.append(result.text.empty() ? "" : "\n").append(part.text);
    }
  });
  return result;
}

void add_calls_to(Turn& turn, const json::Value* calls) {
  if (calls == nullptr || !calls->IsArray()) {
    return;
  }
  for (const json::Value& call : calls->GetArray()) {
    const json::Value* function = go_member(call, "function");
    std::string name = function == nullptr ? "" : go_string(go_member(*function, "name"));
    std::string arguments = function == nullptr ? "" : go_string(go_member(*function, "arguments"));
    turn.add_call(go_string(go_member(call, "id")), std::move(name), std::move(arguments));
  }
}

}  // namespace

bool Renderer::add_turns_of(const SpokenEntry& entry, const json::Value& record, std::vector<Turn>& turns) const {
  const json::Value* nested = go_member(record, "message");
  const json::Value& body = nested != nullptr && nested->IsObject() ? *nested : record;
  const std::string role = go_string(go_member(body, "role"));
  Turn turn;
  turn.time_ms = entry.time_ms;
  if (role == "system") {
    return true;
  }
  if (role == "tool") {
    turn.speaker = Turn::Speaker::tool;
    turn.parts.push_back(result_in(body));
  } else if (role == "user" || role == "assistant") {
    turn.speaker = role == "user" ? Turn::Speaker::user : Turn::Speaker::assistant;
    each_part(go_member(body, "content"), [&](TurnPart part) {
      if (part.kind == Kind::image || !part.text.empty()) {
        turn.parts.push_back(std::move(part));
      }
    });
    add_calls_to(turn, go_member(body, "tool_calls"));
  } else {
    return false;
  }
  turns.push_back(std::move(turn));
  return true;
}

}  // namespace arborfs::goat
