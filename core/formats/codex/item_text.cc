#include "core/formats/codex/item_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "core/formats/codex/record.h"
#include "core/formats/codex/record_kinds.h"

namespace arborfs::codex {
namespace {

using Kind = MessagePart::Kind;

std::string string_of(const json::Value& object, std::string_view key) {
  return std::string(json::string_member(object, key).value_or(""));
}

void add_part(Message& message, Kind kind, std::string text, std::string tool = "") {
  if (!text.empty()) {
    MessagePart part;
    part.kind = kind;
    part.text = std::move(text);
    part.tool = std::move(tool);
    message.push_back(std::move(part));
  }
}

void add_value(Message& message, const json::Value* value) {
  if (value != nullptr && !value->IsNull()) {
    message.push_back({Kind::fields, json::stringify(*value), "", nullptr});
  }
}

void add_image(Message& message, const json::Value& item) {
  MessagePart part;
  part.kind = Kind::image;
  part.data = json::member(item, "image_url");
  message.push_back(std::move(part));
}

bool is_image(const json::Value& item) {
  return json::is_string(json::member(item, "type"), "input_image");
}

/// The texts `<image name=...>` and `</image>` around a local image (codex/FORMAT.md E3).
bool is_image_tag(const json::Value& items, rapidjson::SizeType at, std::string_view text) {
  const bool is_before = at + 1 < items.Size() && is_image(items[at + 1]) && text.starts_with("<image ");
  return is_before || (at > 0 && is_image(items[at - 1]) && text == "</image>");
}

std::string_view kind_of(const json::Value& payload, rapidjson::SizeType at) {
  const json::Value* metadata = json::member(payload, kItemKinds);
  const json::Value* kinds = metadata == nullptr ? nullptr : json::member(*metadata, "content_item_kinds");
  const bool has_it = kinds != nullptr && kinds->IsArray() && at < kinds->Size() && (*kinds)[at].IsString();
  return has_it ? json::as_string((*kinds)[at]) : std::string_view();
}

/// The items of a message or of a tool's output. If the user typed some of them, the inserted ones are left out.
void add_items(Message& message, const json::Value& payload, const json::Value& items, bool only_typed) {
  for (rapidjson::SizeType at = 0; at < items.Size(); ++at) {
    const json::Value& item = items[at];
    if (is_image(item)) {
      add_image(message, item);
      continue;
    }
    if (!json::string_member(item, "text")) {
      add_value(message, &item);
      continue;
    }
    std::string text = string_of(item, "text");
    const bool is_left_out = only_typed && origin_of(kind_of(payload, at), text) != Origin::typed;
    if (!is_left_out && !is_image_tag(items, at, text)) {
      add_part(message, Kind::text, std::move(text));
    }
  }
}

bool has_typed_item(const json::Value& payload, const json::Value& items) {
  for (rapidjson::SizeType at = 0; at < items.Size(); ++at) {
    if (origin_of(kind_of(payload, at), json::string_member(items[at], "text").value_or("")) == Origin::typed) {
      return true;
    }
  }
  return false;
}

void add_content(Message& message, const json::Value& payload) {
  const json::Value* items = json::member(payload, "content");
  if (items != nullptr && items->IsArray()) {
    const bool is_user = json::is_string(json::member(payload, "role"), "user");
    add_items(message, payload, *items, is_user && has_typed_item(payload, *items));
  } else if (items != nullptr && items->IsString()) {
    add_part(message, Kind::text, std::string(json::as_string(*items)));
  }
}

void add_reasoning(Message& message, const json::Value& payload) {
  for (const char* key : {"summary", "content"}) {
    const json::Value* items = json::member(payload, key);
    if (!message.empty() || items == nullptr || !items->IsArray()) {
      continue;
    }
    for (const json::Value& item : items->GetArray()) {
      add_part(message, Kind::thinking, item.IsString() ? std::string(json::as_string(item)) : string_of(item, "text"));
    }
  }
}

/// The text of a tool's output that the first formats wrote as JSON: `{"output","metadata"}`, or the items of an MCP
/// server's answer. Nothing for other text.
std::optional<Message> unwrapped(std::string_view text) {
  json::Document parsed;
  const bool may_be = text.starts_with('{') || text.starts_with('[');
  if (!may_be || !json::parse(text, parsed)) {
    return std::nullopt;
  }
  Message message;
  if (const auto output = json::string_member(parsed, "output")) {
    add_part(message, Kind::text, std::string(*output));
    const json::Value* metadata = json::member(parsed, "metadata");
    const json::Value* code = metadata == nullptr ? nullptr : json::member(*metadata, "exit_code");
    if (code != nullptr && code->IsNumber() && code->GetDouble() != 0) {
      add_part(message, Kind::text, "exit code " + json::number_text(code->GetDouble()));
    }
    return message;
  }
  const json::Value* items = parsed.IsArray() ? &parsed : json::member(parsed, "content");
  if (items == nullptr || !items->IsArray() || items->Empty()) {
    return std::nullopt;
  }
  for (const json::Value& item : items->GetArray()) {
    const auto words = json::string_member(item, "text");
    if (!words || !json::string_member(item, "type")) {
      return std::nullopt;
    }
    add_part(message, Kind::text, std::string(*words));
  }
  return message;
}

/// The output of a tool: text, items, or an object with either.
void add_output(Message& message, const json::Value& payload) {
  const json::Value* output = json::member(payload, "output");
  if (output != nullptr && output->IsObject()) {
    const json::Value* success = json::member(*output, "success");
    if (success != nullptr && success->IsFalse()) {
      message.push_back({Kind::tool_error, "", ""});
    }
    const json::Value* content = json::member(*output, "content");
    output = content == nullptr ? output : content;
  }
  if (output != nullptr && output->IsArray()) {
    add_items(message, payload, *output, false);
  } else if (output != nullptr && output->IsString()) {
    if (auto parts = unwrapped(json::as_string(*output))) {
      std::move(parts->begin(), parts->end(), std::back_inserter(message));
    } else {
      add_part(message, Kind::text, std::string(json::as_string(*output)));
    }
  } else {
    add_value(message, output);
  }
  make_output(message);
}

/// A string, or the JSON of another value; "" if there is none.
std::string text_or_json(const json::Value* value) {
  return value == nullptr || value->IsNull() ? ""
         : value->IsString()                 ? std::string(json::as_string(*value))
                                             : json::stringify(*value);
}

void add_call(Message& message, std::string tool, const json::Value* input) {
  MessagePart call;
  call.kind = Kind::tool_call;
  call.text = text_or_json(input);
  call.tool = std::move(tool);
  message.push_back(std::move(call));
}

/// A call of one of the model's built-in tools: its type without `_call`, and its action or arguments.
void add_own_call(Message& message, const json::Value& payload, std::string_view type) {
  const json::Value* action = json::member(payload, "action");
  add_call(message, std::string(type.substr(0, type.size() - std::string_view("_call").size())),
           action == nullptr ? json::member(payload, "arguments") : action);
}

/// By the first letters of its base64.
std::string_view media_type_of(std::string_view base64) {
  struct Start {
    std::string_view letters;
    std::string_view type;
  };
  constexpr std::array kStarts = {Start{"/9j/", "image/jpeg"}, Start{"UklGR", "image/webp"},
                                  Start{"R0lGOD", "image/gif"}};
  const auto* const start =
      std::find_if(kStarts.begin(), kStarts.end(), [&](const Start& each) { return base64.starts_with(each.letters); });
  return start == kStarts.end() ? "image/png" : start->type;
}

/// A picture that the model made, and what it was asked to show.
void add_picture(Message& message, const json::Value& payload) {
  add_call(message, "image_generation", json::member(payload, "revised_prompt"));
  const json::Value* result = json::member(payload, "result");
  if (result != nullptr && result->IsString() && result->GetStringLength() > 0) {
    MessagePart image;
    image.kind = Kind::image;
    image.text = media_type_of(json::as_string(*result));
    image.data = result;
    message.push_back(std::move(image));
  }
}

/// A message from one agent to another.
void add_agent_message(Message& message, const json::Value& payload) {
  add_content(message, payload);
  const std::string author = string_of(payload, "author");
  const std::string recipient = string_of(payload, "recipient");
  if (!author.empty()) {
    add_part(message, Kind::text, "(from " + author + (recipient.empty() ? "" : " to " + recipient) + ")");
  }
}

bool has(const json::Value& object, std::string_view key) {
  return json::member(object, key) != nullptr;
}

void add_location(std::string& words, const json::Value& finding) {
  const json::Value* place = json::member(finding, "code_location");
  const json::Value* lines = place == nullptr ? nullptr : json::member(*place, "line_range");
  const json::Value* first = lines == nullptr ? nullptr : json::member(*lines, "start");
  if (place != nullptr) {
    words += "\n" + string_of(*place, "absolute_file_path");
  }
  if (first != nullptr && first->IsNumber()) {
    words += ":" + json::number_text(first->GetDouble());
  }
}

/// What a reviewer found.
void add_review(Message& message, const json::Value& event) {
  const json::Value* output = json::member(event, "review_output");
  const json::Value* findings = output == nullptr ? nullptr : json::member(*output, "findings");
  if (findings != nullptr && findings->IsArray()) {
    for (const json::Value& finding : findings->GetArray()) {
      std::string words = string_of(finding, "title");
      add_location(words, finding);
      add_part(message, Kind::text, std::move(words));
      add_part(message, Kind::text, string_of(finding, "body"));
    }
  }
  if (output != nullptr) {
    add_part(message, Kind::text, string_of(*output, "overall_explanation"));
    add_part(message, Kind::text, string_of(*output, "overall_correctness"));
  }
  add_part(message, Kind::text, string_of(event, "user_facing_hint"));
}

/// A list of things to do, with a word for the state of each.
void add_steps(Message& message, const json::Value& event) {
  add_part(message, Kind::text, string_of(event, "explanation"));
  const json::Value* steps = json::member(event, "plan");
  std::string list;
  if (steps != nullptr && steps->IsArray()) {
    for (const json::Value& step : steps->GetArray()) {
      const std::string status = string_of(step, "status");
      list += (list.empty() ? "- " : "\n- ") + string_of(step, "step") + (status.empty() ? "" : " (" + status + ")");
    }
  }
  add_part(message, Kind::text, std::move(list));
}

}  // namespace

const json::Value* item_of(const json::Value& record) {
  const json::Value* payload = json::member(record, "payload");
  if (payload != nullptr && payload->IsObject()) {
    return json::is_string(json::member(record, "type"), "response_item") ? payload : nullptr;
  }
  return record.IsObject() ? &record : nullptr;
}

std::string_view type_of_item(const json::Value& item) {
  if (const auto type = json::string_member(item, "type")) {
    return *type;
  }
  const std::string_view known =
      item_type_of({has(item, "role"), has(item, "content"), has(item, "call_id"), has(item, "output"),
                    has(item, "arguments"), has(item, "input"), has(item, "summary")});
  return known.empty() && has(item, "author") ? "agent_message" : known;
}

Message message_of_item(const json::Value& item) {
  const std::string_view type = type_of_item(item);
  Message message;
  if (type == "message") {
    add_content(message, item);
  } else if (type == "reasoning") {
    add_reasoning(message, item);
  } else if (type == "function_call") {
    add_call(message, string_of(item, "name"), json::member(item, "arguments"));
  } else if (type == "custom_tool_call") {
    add_call(message, string_of(item, "name"), json::member(item, "input"));
  } else if (type == "image_generation_call") {
    add_picture(message, item);
  } else if (type == "agent_message") {
    add_agent_message(message, item);
  } else if (type == "tool_search_output") {
    add_value(message, json::member(item, "tools"));
  } else if (type == "ghost_snapshot") {
    add_value(message, json::member(item, "ghost_commit"));
  } else if (type == "compaction" || type == "compaction_summary" || type == "context_compaction") {
    add_part(message, Kind::text, "[compaction]");
  } else if (type.ends_with("_call_output")) {
    add_output(message, item);
  } else if (type.ends_with("_call")) {
    add_own_call(message, item, type);
  } else {
    add_value(message, &item);
  }
  return message;
}

Message message_of_event(const json::Value& event) {
  Message message;
  const json::Value* item = json::member(event, "item");
  if (item != nullptr && item->IsObject()) {
    add_part(message, Kind::text, string_of(*item, "text"));
    add_content(message, *item);
    return message;
  }
  add_part(message, Kind::text, string_of(event, "message"));
  add_part(message, Kind::text, string_of(event, "summary"));
  add_part(message, Kind::text, string_of(event, "details"));
  add_part(message, Kind::text, string_of(event, "unified_diff"));
  add_review(message, event);
  add_steps(message, event);
  if (const json::Value* goal = json::member(event, "goal")) {
    add_part(message, Kind::text, string_of(*goal, "objective"));
  }
  add_value(message, message.empty() ? &event : nullptr);
  return message;
}

}  // namespace arborfs::codex
