#include "core/formats/codex/codex_renderer.h"

#include <utility>

#include "core/formats/codex/codex_context.h"
#include "core/formats/codex/record.h"
#include "core/json/document.h"

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
      add_part(message, Kind::thinking, string_of(item, "text"));
    }
  }
}

/// The output of a tool: text, items, or an object with either.
void add_output(Message& message, const json::Value& payload) {
  const json::Value* output = json::member(payload, "output");
  if (output != nullptr && output->IsObject()) {
    const json::Value* success = json::member(*output, "success");
    if (success != nullptr && success->IsFalse()) {
      message.push_back({Kind::tool_error, "", ""});
    }
    output = json::member(*output, "content");
  }
  if (output != nullptr && output->IsArray()) {
    add_items(message, payload, *output, false);
  } else if (output != nullptr && output->IsString()) {
    add_part(message, Kind::text, std::string(json::as_string(*output)));
  }
}

void add_call(Message& message, std::string tool, std::string input) {
  MessagePart call;
  call.kind = Kind::tool_call;
  call.text = std::move(input);
  call.tool = std::move(tool);
  message.push_back(std::move(call));
}

/// A call of one of the model's built-in tools: its type without `_call`, and its action.
void add_own_call(Message& message, const json::Value& payload, std::string_view type) {
  const json::Value* action = json::member(payload, "action");
  add_call(message, std::string(type.substr(0, type.size() - std::string_view("_call").size())),
           action == nullptr ? "" : json::stringify(*action));
}

/// Nothing for an item of a type that is not known.
std::optional<Message> message_of_item(const json::Value& payload) {
  const std::string_view type = json::string_member(payload, "type").value_or("");
  Message message;
  if (type == "message") {
    add_content(message, payload);
  } else if (type == "reasoning") {
    add_reasoning(message, payload);
  } else if (type == "function_call") {
    add_call(message, string_of(payload, "name"), string_of(payload, "arguments"));
  } else if (type == "custom_tool_call") {
    add_call(message, string_of(payload, "name"), string_of(payload, "input"));
  } else if (type.ends_with("_call_output")) {
    add_output(message, payload);
  } else if (type.ends_with("_call")) {
    add_own_call(message, payload, type);
  } else {
    return std::nullopt;
  }
  return message;
}

const json::Value* member_of(const json::Value* object, std::string_view key) {
  return object == nullptr ? nullptr : json::member(*object, key);
}

/// The usage of one response, from either kind of record (codex/FORMAT.md F1, F2), and the key of the response.
struct Told {
  const json::Value* usage = nullptr;
  std::string response;
  std::string thread;  // the thread of the response; "" if the record does not name it
};

Told told_by(const json::Value& record) {
  const json::Value* payload = json::member(record, "payload");
  if (json::is_string(json::member(record, "type"), "token_usage_record")) {
    const auto response = payload == nullptr ? std::nullopt : json::string_member(*payload, "response_id");
    const auto thread = payload == nullptr ? std::nullopt : json::string_member(*payload, "thread_id");
    return {member_of(payload, "usage"), std::string(response.value_or("")), std::string(thread.value_or(""))};
  }
  if (!json::is_string(member_of(payload, "type"), "token_count")) {
    return {};
  }
  const json::Value* info = member_of(payload, "info");
  const json::Value* total = member_of(info, "total_token_usage");
  return {member_of(info, "last_token_usage"), total == nullptr ? "" : json::stringify(*total), ""};
}

std::optional<double> number_of(const json::Value& object, std::string_view key) {
  const json::Value* number = json::member(object, key);
  return number != nullptr && number->IsNumber() ? std::optional(number->GetDouble()) : std::nullopt;
}

/// One line: `1205 tokens in (100 cached), 40 out (10 reasoning)`.
std::string usage_text(const json::Value& usage) {
  const auto count = [&usage](std::string_view key) { return json::number_text(number_of(usage, key).value_or(0)); };
  return count("input_tokens") + " tokens in (" + count("cached_input_tokens") + " cached), " + count("output_tokens") +
         " out (" + count("reasoning_output_tokens") + " reasoning)";
}

}  // namespace

bool Renderer::is_in_transcript(std::string_view name) const {
  return name != "developer" && name != "harness" && name != "token_usage_record" && name != "token_count";
}

std::optional<Message> Renderer::message_of(EntryType type, const json::Value& record) const {
  const json::Value* payload = json::member(record, "payload");
  if (payload == nullptr || !payload->IsObject()) {
    return std::nullopt;
  }
  Message message;
  if (type == EntryType::compaction) {
    add_part(message, Kind::text, string_of(*payload, "message"));
    return message;
  }
  if (const Told told = told_by(record); told.usage != nullptr && told.usage->IsObject()) {
    add_part(message, Kind::text, usage_text(*told.usage));
    return message;
  }
  return message_of_item(*payload);
}

std::optional<RecordUsage> Renderer::usage_of(EntryType /*type*/, const json::Value& record) const {
  const Told told = told_by(record);
  if (told.usage == nullptr || !told.usage->IsObject()) {
    return std::nullopt;
  }
  RecordUsage found;
  found.request = told.response;
  if (!told.thread.empty() && !told.response.empty()) {
    found.request_anywhere = told.thread + '\n' + told.response;
  }
  Usage& usage = found.usage;
  const double cached = number_of(*told.usage, "cached_input_tokens").value_or(0);
  if (const auto input = number_of(*told.usage, "input_tokens")) {
    usage.input = *input - cached;
  }
  usage.cache_read = cached;
  usage.cache_write = number_of(*told.usage, "cache_write_input_tokens").value_or(usage.cache_write);
  usage.output = number_of(*told.usage, "output_tokens").value_or(usage.output);
  usage.reasoning = number_of(*told.usage, "reasoning_output_tokens").value_or(usage.reasoning);
  usage.total_tokens = number_of(*told.usage, "total_tokens").value_or(usage.total_tokens);
  return found;
}

Result<std::shared_ptr<const Content>> Renderer::context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                         std::shared_ptr<const BlobSource> /*blobs*/) const {
  return build_context(path, std::move(log));
}

}  // namespace arborfs::codex
