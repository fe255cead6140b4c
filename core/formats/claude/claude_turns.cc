// Translates rows into turns of a conversation (claude/FORMAT.md B3, E2, F3).
#include <string>
#include <utility>

#include "core/formats/claude/claude_renderer.h"
#include "core/json/document.h"

namespace arborfs::claude {
namespace {

using Kind = TurnPart::Kind;

std::string text_in(const json::Value& object, std::string_view key) {
  return std::string(json::string_member(object, key).value_or(""));
}

TurnImage image_in(const json::Value& block) {
  const json::Value* source = json::member(block, "source");
  if (source == nullptr) {
    return {};
  }
  const bool has_bytes = json::is_string(json::member(*source, "type"), "base64");
  return {text_in(*source, "media_type"), has_bytes ? text_in(*source, "data") : "", text_in(*source, "url")};
}

/// The output of a tool: a string, or blocks of text and images.
TurnPart result_in(const json::Value& block) {
  TurnPart result{Kind::tool_result, "", text_in(block, "tool_use_id")};
  result.is_error = json::is_truthy(json::member(block, "is_error"));
  const json::Value* content = json::member(block, "content");
  if (content != nullptr && content->IsString()) {
    result.text = json::as_string(*content);
  } else if (content != nullptr && content->IsArray()) {
    for (const json::Value& inner : content->GetArray()) {
      if (json::is_string(json::member(inner, "type"), "image")) {
        result.images.push_back(image_in(inner));
      } else {
        const auto text = json::string_member(inner, "text");
        result.text.append(result.text.empty() ? "" : "\n").append(text ? *text : json::stringify(inner));
      }
    }
  }
  return result;
}

void add_part(Turn& turn, const json::Value& block) {
  const auto type = json::string_member(block, "type").value_or("");
  if (type == "text") {
    turn.add(Kind::text, text_in(block, "text"));
  } else if (type == "thinking") {
    turn.add(Kind::reasoning, text_in(block, "thinking"));
  } else if (type == "redacted_thinking") {
    turn.add(Kind::reasoning, "(redacted)");
  } else if (type == "tool_use") {
    const json::Value* input = json::member(block, "input");
    turn.add_call(text_in(block, "id"), text_in(block, "name"), input == nullptr ? "{}" : json::stringify(*input));
  } else if (type == "image" || type == "document") {
    turn.add_image(image_in(block));
  } else {
    turn.add(Kind::text, json::stringify(block));
  }
}

void add_content_to(const json::Value& content, Turn& turn, Turn& results) {
  if (content.IsString()) {
    turn.add(Kind::text, std::string(json::as_string(content)));
  } else if (content.IsArray()) {
    for (const json::Value& block : content.GetArray()) {
      if (json::is_string(json::member(block, "type"), "tool_result")) {
        results.parts.push_back(result_in(block));
      } else {
        add_part(turn, block);
      }
    }
  }
}

/// The content of a message, of the output of a command, or of an input that arrived while the assistant answered: a
/// prompt, or a notice of a sub-agent.
const json::Value* content_of(const json::Value& record) {
  if (json::is_string(json::member(record, "subtype"), "local_command")) {
    return json::member(record, "content");
  }
  const bool is_attachment = json::is_string(json::member(record, "type"), "attachment");
  const json::Value* holder = json::member(record, is_attachment ? "attachment" : "message");
  return holder == nullptr ? nullptr : json::member(*holder, is_attachment ? "prompt" : "content");
}

}  // namespace

bool Renderer::add_turns_of(const SpokenEntry& entry, const json::Value& record, std::vector<Turn>& turns) const {
  const json::Value* content = content_of(record);
  if (content == nullptr || entry.name == "meta") {
    return true;
  }
  if (json::is_truthy(json::member(record, "isApiErrorMessage"))) {
    return true;
  }
  Turn turn;
  turn.time_ms = entry.time_ms;
  if (json::is_string(json::member(record, "type"), "assistant")) {
    turn.speaker = Turn::Speaker::assistant;
    turn.provider = "anthropic";
    turn.model = text_in(*json::member(record, "message"), "model");
  }
  turn.is_note = entry.name != "user" && entry.name != "assistant" && entry.name != "tool";
  Turn results;
  results.speaker = Turn::Speaker::tool;
  results.time_ms = entry.time_ms;
  add_content_to(*content, turn, results);
  turns.push_back(std::move(results));
  turns.push_back(std::move(turn));
  return true;
}

}  // namespace arborfs::claude
