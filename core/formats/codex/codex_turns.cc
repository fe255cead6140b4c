// Translates records into turns of a conversation (codex/FORMAT.md E).
#include <deque>
#include <string>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/codex/codex_context.h"
#include "core/formats/codex/codex_renderer.h"
#include "core/formats/codex/item_text.h"
#include "core/formats/codex/record.h"
#include "core/formats/codex/rollout_record.h"
#include "core/json/document.h"
#include "core/render/text.h"

namespace arborfs::codex {
namespace {

using Part = TurnPart::Kind;

std::string text_in(const json::Value& object, std::string_view key) {
  return std::string(json::string_member(object, key).value_or(""));
}

/// The output of a tool: text, items, or an object with either (codex/FORMAT.md E2).
TurnPart result_in(const json::Value& payload) {
  TurnPart result{Part::tool_result, "", text_in(payload, "call_id")};
  const json::Value* output = json::member(payload, "output");
  if (output != nullptr && output->IsObject()) {
    const json::Value* success = json::member(*output, "success");
    result.is_error = success != nullptr && success->IsFalse();
    output = json::member(*output, "content");
  }
  if (output != nullptr && output->IsString()) {
    result.text = json::as_string(*output);
  } else if (output != nullptr && output->IsArray()) {
    for (const json::Value& item : output->GetArray()) {
      if (const auto url = json::string_member(item, "image_url")) {
        result.images.push_back(image_of_url(*url));
      } else {
        result.text.append(result.text.empty() ? "" : "\n").append(text_in(item, "text"));
      }
    }
  }
  return result;
}

/// The arguments as JSON; a text that is not JSON becomes a JSON string.
std::string arguments_in(const json::Value& payload, std::string_view key) {
  const json::Value* input = json::member(payload, key);
  if (input != nullptr && !input->IsString()) {
    return json::stringify(*input);
  }
  std::string text = text_in(payload, key);
  json::Document parsed;
  return json::parse(text, parsed) ? text : json::stringify_string(text);
}

std::string own_tool_of(std::string_view type) {
  return std::string(type.substr(0, type.size() - std::string_view("_call").size()));
}

void add_parts(Turn& turn, const Message& message) {
  for (const MessagePart& part : message) {
    if (part.kind == MessagePart::Kind::thinking) {
      turn.add(Part::reasoning, part.text);
    } else if (part.kind == MessagePart::Kind::image) {
      const bool has_url = part.data != nullptr && part.data->IsString();
      turn.add_image(image_of_url(has_url ? json::as_string(*part.data) : ""));
    } else {
      turn.add(Part::text, part.text);
    }
  }
}

/// An item as the record that a session has for it, and the word in that record's file name.
struct ItemRecord {
  std::string raw;
  std::string name;
};

ItemRecord record_of(const std::string& item) {
  ItemRecord record{R"({"type":"response_item","payload":)" + item + "}", ""};
  const std::size_t length = record.raw.size();
  record.raw.append(json::Places::kPadding, '\0');
  std::deque<std::string> texts;
  if (const auto read = RolloutParser().parse(std::string_view(record.raw).substr(0, length), texts)) {
    record.name = read->role;
  }
  record.raw.resize(length);
  return record;
}

}  // namespace

Result<void> Renderer::read_turns(const SpokenPath& spoken, const TakeTurns& take) const {
  if (spoken.reach == Reach::path) {
    return RecordRenderer::read_turns(spoken, take);
  }
  ASSIGN_OR_RETURN(const auto items, history_of(spoken.path, *spoken.log));
  for (const HistoryItem& item : items) {
    ASSIGN_OR_RETURN(const auto text, item.made.empty() ? read_spoken(*spoken.log, item.offset, item.length)
                                                        : Result<std::string>(item.made));
    const ItemRecord record = record_of(text);
    std::vector<Turn> turns;
    add_turns({EntryType::message, record.name, record.raw, item.time_ms, *spoken.blobs}, turns);
    RETURN_IF_ERROR(take(item.entry, std::move(turns)));
  }
  return {};
}

bool Renderer::add_turns_of(const SpokenEntry& entry, const json::Value& record, std::vector<Turn>& turns) const {
  const bool is_spoken = entry.type == EntryType::message || entry.type == EntryType::compaction;
  const json::Value* item = item_of(record);
  const json::Value* payload = item == nullptr ? json::member(record, "payload") : item;
  const auto message = message_of(entry.type, record);
  if (!is_spoken || payload == nullptr || !message || !is_in_transcript(entry.name)) {
    return true;
  }
  const std::string_view type = item == nullptr ? "" : type_of_item(*item);
  Turn turn;
  turn.time_ms = entry.time_ms;
  if (type.ends_with("_call_output")) {
    turn.speaker = Turn::Speaker::tool;
    turn.parts.push_back(result_in(*payload));
  } else if (type.ends_with("_call")) {
    turn.speaker = Turn::Speaker::assistant;
    const bool has_arguments = type == "function_call" || type == "custom_tool_call";
    const json::Value* action = json::member(*payload, "action");
    std::string arguments = has_arguments ? arguments_in(*payload, type == "function_call" ? "arguments" : "input")
                                          : (action == nullptr ? "{}" : json::stringify(*action));
    turn.add_call(text_in(*payload, "call_id"), has_arguments ? text_in(*payload, "name") : own_tool_of(type),
                  std::move(arguments));
  } else {
    const bool is_assistant = type == "reasoning" || json::is_string(json::member(*payload, "role"), "assistant");
    turn.speaker = is_assistant ? Turn::Speaker::assistant : Turn::Speaker::user;
    turn.is_note = !is_assistant && entry.name != "user";
    add_parts(turn, *message);
  }
  turn.provider = turn.speaker == Turn::Speaker::assistant ? "openai" : "";
  turns.push_back(std::move(turn));
  return true;
}

std::string Renderer::typed_in(std::string_view text) const {
  static constexpr std::string_view kElements[] = {
      "environment_context", "user_instructions", "INSTRUCTIONS", "skill", "subagent_notification", "user_action"};
  constexpr std::string_view kContext = "# Context from my IDE setup:";
  constexpr std::string_view kRequest = "## My request for Codex:";
  if (text.starts_with(kContext)) {
    const std::size_t request = text.find(kRequest);
    text = request == std::string_view::npos ? "" : text.substr(request + kRequest.size());
  }
  return origin_of("", text) == Origin::typed ? without_elements(text, kElements) : "";
}

std::string Renderer::command_in(std::string_view text) const {
  const std::string_view ran = element_in(element_in(text, "user_shell_command"), "command");
  return ran.empty() ? "" : "!" + std::string(ran);
}

}  // namespace arborfs::codex
