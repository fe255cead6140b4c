#include "core/formats/opencode/opencode_renderer.h"

#include <utility>

#include "core/formats/opencode/replayed_context.h"
#include "core/json/document.h"

namespace arborfs::opencode {
namespace {

std::string string_of(const json::Value& object, std::string_view key) {
  return std::string(json::string_member(object, key).value_or(""));
}

void add_words(Message& message, MessagePart::Kind kind, std::string text) {
  if (!text.empty()) {
    message.push_back({kind, std::move(text), "", nullptr});
  }
}

/// A file that a user or a tool attached: an image, or its name.
void add_file(Message& message, const json::Value& part) {
  std::string mime = string_of(part, "mime");
  const json::Value* url = json::member(part, "url");
  if (mime.starts_with("image/")) {
    message.push_back({MessagePart::Kind::image, std::move(mime), "", url});
    return;
  }
  std::string name = string_of(part, "filename");
  if (name.empty() && url != nullptr && url->IsString() && !json::as_string(*url).starts_with("data:")) {
    name = json::as_string(*url);
  }
  add_words(message, MessagePart::Kind::text, "[file" + (name.empty() ? "" : ": " + name) + "]");
}

void add_call(Message& message, const json::Value& part) {
  const json::Value* state = json::member(part, "state");
  const json::Value* input = state == nullptr ? nullptr : json::member(*state, "input");
  const std::string tool = string_of(part, "tool");
  message.push_back({MessagePart::Kind::tool_call, input == nullptr ? "" : json::stringify(*input), tool, nullptr});
  if (state == nullptr) {
    return;
  }
  if (json::is_string(json::member(*state, "status"), "error")) {
    message.push_back({MessagePart::Kind::tool_error, "", tool, nullptr});
    add_words(message, MessagePart::Kind::tool_output, string_of(*state, "error"));
  }
  add_words(message, MessagePart::Kind::tool_output, string_of(*state, "output"));
  const json::Value* attachments = json::member(*state, "attachments");
  if (attachments != nullptr && attachments->IsArray()) {
    for (const json::Value& attachment : attachments->GetArray()) {
      add_file(message, attachment);
    }
  }
}

/// The names in a list of strings, with a comma between them.
std::string names_in(const json::Value* list) {
  std::string names;
  if (list != nullptr && list->IsArray()) {
    for (const json::Value& name : list->GetArray()) {
      names.append(names.empty() ? "" : ", ").append(name.IsString() ? json::as_string(name) : "");
    }
  }
  return names;
}

void add_error(Message& message, const json::Value& error) {
  const json::Value* data = json::member(error, "data");
  std::string words = data == nullptr ? "" : string_of(*data, "message");
  message.push_back({MessagePart::Kind::tool_error, "", string_of(error, "name"), nullptr});
  add_words(message, MessagePart::Kind::text, std::move(words));
}

/// Steps and snapshots have no readable text.
void add_part(Message& message, const json::Value& part) {
  using Kind = MessagePart::Kind;
  const std::string type = string_of(part, "type");
  if (type == "text") {
    add_words(message, Kind::text, string_of(part, "text"));
  } else if (type == "reasoning") {
    const std::string text = string_of(part, "text");
    add_words(message, Kind::thinking, text.empty() ? string_of(part, "reasoning") : text);
  } else if (type == "tool") {
    add_call(message, part);
  } else if (type == "file") {
    add_file(message, part);
  } else if (type == "patch") {
    add_words(message, Kind::text, "[changed " + names_in(json::member(part, "files")) + "]");
  } else if (type == "agent") {
    add_words(message, Kind::text, "[agent " + string_of(part, "name") + "]");
  } else if (type == "subtask") {
    add_words(message, Kind::text, "[task for " + string_of(part, "agent") + "] " + string_of(part, "prompt"));
  } else if (type == "compaction") {
    add_words(message, Kind::text, "[compaction]");
  } else if (type == "retry") {
    if (const json::Value* error = json::member(part, "error")) {
      add_error(message, *error);
    }
  } else if (type != "step-start" && type != "step-finish" && type != "snapshot") {
    message.push_back({Kind::fields, json::stringify(part), "", nullptr});
  }
}

void tell(double& number, const json::Value* value) {
  if (value != nullptr && value->IsNumber()) {
    number = value->GetDouble();
  }
}

}  // namespace

std::optional<Message> Renderer::message_of(EntryType /*type*/, const json::Value& record) const {
  const json::Value* info = json::member(record, "info");
  const json::Value* parts = json::member(record, "parts");
  if (info == nullptr || !info->IsObject() || parts == nullptr || !parts->IsArray()) {
    return std::nullopt;
  }
  Message message;
  for (const json::Value& part : parts->GetArray()) {
    add_part(message, part);
  }
  if (const json::Value* error = json::member(*info, "error"); error != nullptr && error->IsObject()) {
    add_error(message, *error);
  }
  return message;
}

/// The message and its step-finish part contain the same numbers; they count once (opencode/FORMAT.md C5).
std::optional<RecordUsage> Renderer::usage_of(EntryType /*type*/, const json::Value& record) const {
  const json::Value* info = json::member(record, "info");
  const json::Value* tokens = info == nullptr ? nullptr : json::member(*info, "tokens");
  if (tokens == nullptr || !tokens->IsObject()) {
    return std::nullopt;
  }
  RecordUsage told;
  tell(told.usage.input, json::member(*tokens, "input"));
  tell(told.usage.output, json::member(*tokens, "output"));
  tell(told.usage.reasoning, json::member(*tokens, "reasoning"));
  tell(told.usage.total_tokens, json::member(*tokens, "total"));
  if (const json::Value* cache = json::member(*tokens, "cache")) {
    tell(told.usage.cache_read, json::member(*cache, "read"));
    tell(told.usage.cache_write, json::member(*cache, "write"));
  }
  tell(told.usage.cost, json::member(*info, "cost"));
  if (told.usage.cost == 0 && tokens_told(told.usage) == 0) {
    told.usage.cost = untold_usage().cost;  // of a session that arborfs made of another agent's (opencode/FORMAT.md G5)
  }
  told.model = std::string(json::string_member(*info, "modelID").value_or(""));
  return told;
}

Result<std::shared_ptr<const Content>> Renderer::context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                         std::shared_ptr<const BlobSource> /*blobs*/) const {
  return replayed_context(path, std::move(log), era_);
}

}  // namespace arborfs::opencode
