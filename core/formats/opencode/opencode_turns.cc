// Translates messages into turns of a conversation (opencode/FORMAT.md C4).
#include <string>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/opencode/opencode_renderer.h"
#include "core/formats/opencode/replayed_context.h"
#include "core/json/document.h"
#include "core/render/text.h"

namespace arborfs::opencode {
namespace {

using Kind = TurnPart::Kind;

std::string text_in(const json::Value& object, std::string_view key) {
  return std::string(json::string_member(object, key).value_or(""));
}

TurnImage image_in(const json::Value& file) {
  return image_of_url(json::string_member(file, "url").value_or(""), json::string_member(file, "mime").value_or(""));
}

bool is_image(const json::Value& file) {
  return json::string_member(file, "mime").value_or("").starts_with("image/");
}

std::string name_of_file(const json::Value& file) {
  std::string name = text_in(file, "filename");
  const std::string url = text_in(file, "url");
  return "[file: " + (name.empty() && !url.starts_with("data:") ? url : name) + "]";
}

/// The result of a call that has ended.
TurnPart result_in(const json::Value& part, const json::Value& state) {
  TurnPart result{Kind::tool_result, "", text_in(part, "callID"), text_in(part, "tool")};
  result.is_error = json::is_string(json::member(state, "status"), "error");
  result.text = text_in(state, result.is_error ? "error" : "output");
  const json::Value* files = json::member(state, "attachments");
  if (files != nullptr && files->IsArray()) {
    for (const json::Value& file : files->GetArray()) {
      if (is_image(file)) {
        result.images.push_back(image_in(file));
      } else {
        result.text += "\n" + name_of_file(file);
      }
    }
  }
  return result;
}

void add_tool(const json::Value& part, Turn& turn, Turn& results) {
  const json::Value* state = json::member(part, "state");
  const json::Value* input = state == nullptr ? nullptr : json::member(*state, "input");
  turn.add_call(text_in(part, "callID"), text_in(part, "tool"), input == nullptr ? "{}" : json::stringify(*input));
  const auto status = state == nullptr ? "" : json::string_member(*state, "status").value_or("");
  if (status == "completed" || status == "error") {
    results.parts.push_back(result_in(part, *state));
  }
}

/// Steps, snapshots and patches have no content.
void add_part_to(const json::Value& part, Turn& turn, Turn& results) {
  const std::string type = text_in(part, "type");
  if (type == "text") {
    turn.add(Kind::text, json::is_truthy(json::member(part, "ignored")) ? "" : text_in(part, "text"));
  } else if (type == "reasoning") {
    const std::string text = text_in(part, "text");
    turn.add(Kind::reasoning, text.empty() ? text_in(part, "reasoning") : text);
  } else if (type == "tool") {
    add_tool(part, turn, results);
  } else if (type == "file" && is_image(part)) {
    turn.add_image(image_in(part));
  } else if (type == "file") {
    turn.add(Kind::text, name_of_file(part));
  } else if (type == "subtask") {
    turn.add(Kind::text, text_in(part, "prompt"));
  }
}

}  // namespace

Result<void> Renderer::read_turns(const SpokenPath& spoken, const TakeTurns& take) const {
  if (spoken.reach == Reach::path) {
    return RecordRenderer::read_turns(spoken, take);
  }
  ASSIGN_OR_RETURN(const auto messages, sent_messages(spoken.path, spoken.log, era_));
  for (const SentMessage& message : messages) {
    if (message.length > kMaxRenderedEntry) {
      return conversation_too_long();
    }
    ASSIGN_OR_RETURN(const auto text, message.text());
    const ContextPath::Step& step = spoken.path.steps[message.step];
    std::vector<Turn> turns;
    if (!text.empty()) {
      add_turns({step.entry.type, spoken.names[message.step], text, step.entry.timestamp_ms, *spoken.blobs}, turns);
    }
    RETURN_IF_ERROR(take(step.ordinal, std::move(turns)));
  }
  return {};
}

bool Renderer::add_turns_of(const SpokenEntry& entry, const json::Value& record, std::vector<Turn>& turns) const {
  const json::Value* info = json::member(record, "info");
  const json::Value* parts = json::member(record, "parts");
  if (info == nullptr || parts == nullptr || !parts->IsArray()) {
    return false;
  }
  Turn turn;
  Turn results;
  turn.time_ms = results.time_ms = entry.time_ms;
  results.speaker = Turn::Speaker::tool;
  if (json::is_string(json::member(*info, "role"), "assistant")) {
    turn.speaker = Turn::Speaker::assistant;
    turn.provider = text_in(*info, "providerID");
    turn.model = text_in(*info, "modelID");
    turn.is_note = json::is_truthy(json::member(*info, "summary"));
  }
  for (const json::Value& part : parts->GetArray()) {
    add_part_to(part, turn, results);
  }
  turns.push_back(std::move(turn));
  turns.push_back(std::move(results));
  return true;
}

Saying Renderer::saying(const SpokenEntry& entry) const {
  json::Document record;
  json::Value* parts = nullptr;
  if (entry.raw.find("\"synthetic\"") != std::string_view::npos && json::parse(entry.raw, record)) {
    parts = json::member(record, "parts");
  }
  if (parts == nullptr || !parts->IsArray()) {
    return RecordRenderer::saying(entry);
  }
  for (auto* part = parts->Begin(); part != parts->End();) {
    part = json::is_truthy(json::member(*part, "synthetic")) ? parts->Erase(part) : part + 1;
  }
  const std::string typed = json::stringify(record);
  return RecordRenderer::saying({entry.type, entry.name, typed, entry.time_ms, entry.blobs});
}

}  // namespace arborfs::opencode
