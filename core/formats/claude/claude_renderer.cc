#include "core/formats/claude/claude_renderer.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/formats/claude/replay.h"
#include "core/json/document.h"
#include "core/model/model_name.h"

namespace arborfs::claude {
namespace {

constexpr int kDeepestContent = 3;  // blocks in the result of a tool, and one level to spare

std::string string_in(const json::Value& object, std::string_view key) {
  return std::string(json::string_member(object, key).value_or(""));
}

bool is_true(const json::Value& object, std::string_view key) {
  const json::Value* value = json::member(object, key);
  return value != nullptr && value->IsTrue();
}

void add_text(Message& message, MessagePart::Kind kind, std::string text) {
  message.push_back({kind, std::move(text), "", nullptr});
}

void add_value(Message& message, std::string name, const json::Value& value) {
  message.push_back({MessagePart::Kind::value, std::move(name), "", &value});
}

/// An image or a document (claude/FORMAT.md E2).
void add_image(Message& message, const json::Value& block) {
  const json::Value* source = json::member(block, "source");
  if (source != nullptr && json::is_string(json::member(*source, "type"), "text")) {
    return add_text(message, MessagePart::Kind::text, string_in(*source, "data"));
  }
  const bool has_bytes = source != nullptr && json::is_string(json::member(*source, "type"), "base64");
  message.push_back({MessagePart::Kind::image, source == nullptr ? "" : string_in(*source, "media_type"), "",
                     has_bytes ? json::member(*source, "data") : nullptr});
}

void add_call(Message& message, const json::Value& call) {
  const json::Value* input = json::member(call, "input");
  message.push_back({MessagePart::Kind::tool_call, input == nullptr ? "" : json::stringify(*input),
                     string_in(call, "name"), nullptr});
}

/// Adds one block; the result of a tool has blocks of its own, which are returned.
const json::Value* add_block(Message& message, const json::Value& block) {
  const auto type = json::string_member(block, "type").value_or("");
  if (type == "text") {
    add_text(message, MessagePart::Kind::text, string_in(block, "text"));
  } else if (type == "thinking") {
    add_text(message, MessagePart::Kind::thinking, string_in(block, "thinking"));
  } else if (type == "redacted_thinking") {
    add_text(message, MessagePart::Kind::thinking, "(redacted)");
  } else if (type == "tool_use" || type == "server_tool_use" || type == "mcp_tool_use") {
    add_call(message, block);
  } else if (type == "image" || type == "document") {
    add_image(message, block);
  } else if (type == "web_search_result") {
    add_text(message, MessagePart::Kind::text, string_in(block, "title") + "\n" + string_in(block, "url"));
  } else if (type.ends_with("tool_result")) {
    if (is_true(block, "is_error")) {
      message.push_back({MessagePart::Kind::tool_error, "", "", nullptr});
    }
    return json::member(block, "content");
  } else {
    add_value(message, "", block);
  }
  return nullptr;
}

/// Adds a string, or blocks that may have blocks.
void add_content(Message& message, const json::Value* content) {
  struct Open {
    const json::Value* list;
    rapidjson::SizeType next;
  };
  std::array<Open, kDeepestContent> open{};
  int depth = -1;
  const auto enter = [&](const json::Value* inner) {
    if (inner != nullptr && inner->IsString()) {
      add_text(message, MessagePart::Kind::text, std::string(json::as_string(*inner)));
    } else if (inner != nullptr && inner->IsArray() && depth + 1 < kDeepestContent) {
      open[static_cast<std::size_t>(++depth)] = {inner, 0};
    }
  };
  enter(content);
  while (depth >= 0) {
    Open& at = open[static_cast<std::size_t>(depth)];
    if (at.next == at.list->Size()) {
      --depth;
      continue;
    }
    const json::Value& block = (*at.list)[at.next++];
    enter(block.IsString() ? &block : add_block(message, block));
  }
}

/// The content that the program adds to the conversation, as it is sent (claude/FORMAT.md F3).
std::optional<Message> attachment_of(const json::Value& record) {
  Message message;
  const json::Value* rendered = json::member(record, "rendered");
  if (rendered != nullptr && rendered->IsArray()) {
    for (const json::Value& piece : rendered->GetArray()) {
      add_content(message, json::member(piece, "content"));
    }
    return message;
  }
  const json::Value* attachment = json::member(record, "attachment");
  const json::Value* prompt = attachment == nullptr ? nullptr : json::member(*attachment, "prompt");
  if (attachment == nullptr) {
    return std::nullopt;
  }
  if (prompt == nullptr || !json::is_string(json::member(*attachment, "type"), "queued_command")) {
    add_value(message, "", *attachment);
  } else {
    add_content(message, prompt);
  }
  return message;
}

/// Members that rows of every type have.
bool is_common(std::string_view key) {
  constexpr std::array<std::string_view, 16> kCommon = {
      "type",      "uuid",     "parentUuid", "timestamp", "isSidechain", "sessionId", "cwd",     "version",
      "gitBranch", "userType", "entrypoint", "slug",      "agentId",     "isMeta",    "subtype", "logicalParentUuid"};
  return std::find(kCommon.begin(), kCommon.end(), key) != kCommon.end();
}

/// The members that a row of its subtype has: those that are not containers on a line each, then the others.
void add_own_members(Message& message, const json::Value& record) {
  std::string lines = string_in(record, "subtype");
  for (const auto& member : json::members(record)) {
    const std::string_view key = json::as_string(member.name);
    const bool is_plain = !member.value.IsObject() && !member.value.IsArray();
    if (!is_common(key) && is_plain && !member.value.IsNull()) {
      lines.append(lines.empty() ? "" : "\n").append(key).append(": ");
      lines += member.value.IsString() ? std::string(json::as_string(member.value)) : json::stringify(member.value);
    }
  }
  add_text(message, MessagePart::Kind::text, std::move(lines));
  for (const auto& member : json::members(record)) {
    if (!is_common(json::as_string(member.name)) && (member.value.IsObject() || member.value.IsArray())) {
      add_value(message, std::string(json::as_string(member.name)), member.value);
    }
  }
}

std::optional<Message> system_of(const json::Value& record) {
  if (!record.IsObject()) {
    return std::nullopt;
  }
  Message message;
  if (const auto content = json::string_member(record, "content")) {
    add_text(message, MessagePart::Kind::text, std::string(*content));
  } else {
    add_own_members(message, record);
  }
  if (const auto before = json::string_member(record, "logicalParentUuid")) {
    add_text(message, MessagePart::Kind::text, "The conversation before it ends at " + std::string(*before) + ".");
  }
  return message;
}

/// The reply that the row is of (claude/FORMAT.md E1).
std::string request_of(const json::Value& record, const json::Value& message) {
  const std::string id = string_in(message, "id");
  return id.empty() ? string_in(record, "uuid") : id;
}

void take_number(double& number, const json::Value& usage, std::string_view key) {
  const json::Value* value = json::member(usage, key);
  if (value != nullptr && value->IsNumber()) {
    number = value->GetDouble();
  }
}

}  // namespace

bool Renderer::is_in_transcript(std::string_view name) const {
  return name != "attachment" && name != "meta" && name != "system";
}

std::optional<Message> Renderer::message_of(EntryType /*type*/, const json::Value& record) const {
  const auto type = json::string_member(record, "type");
  if (type == "attachment") {
    return attachment_of(record);
  }
  if (type == "system") {
    return system_of(record);
  }
  const json::Value* said = json::member(record, "message");
  const json::Value* content = said == nullptr ? nullptr : json::member(*said, "content");
  if (content == nullptr || (!content->IsString() && !content->IsArray())) {
    return std::nullopt;
  }
  Message message;
  add_content(message, content);
  return message;
}

std::string Renderer::kind_of(const json::Value& record) const {
  const json::Value* attachment = json::member(record, "attachment");
  const std::string kind = attachment == nullptr ? string_in(record, "subtype") : string_in(*attachment, "type");
  return kind.empty() ? MessageRenderer::kind_of(record) : kind;
}

std::optional<RecordUsage> Renderer::usage_of(EntryType /*type*/, const json::Value& record) const {
  const json::Value* said = json::member(record, "message");
  const json::Value* usage = said == nullptr ? nullptr : json::member(*said, "usage");
  if (usage == nullptr || !usage->IsObject() || json::string_member(record, "type") != "assistant") {
    return std::nullopt;
  }
  RecordUsage told;
  take_number(told.usage.cost, record, "costUSD");
  take_number(told.usage.input, *usage, "input_tokens");
  take_number(told.usage.output, *usage, "output_tokens");
  take_number(told.usage.cache_read, *usage, "cache_read_input_tokens");
  take_number(told.usage.cache_write, *usage, "cache_creation_input_tokens");
  if (const json::Value* details = json::member(*usage, "output_tokens_details")) {
    take_number(told.usage.reasoning, *details, "thinking_tokens");
  }
  told.model = string_in(*said, "model");
  if (!names_model(told.model) && tokens_told(told.usage) == 0) {
    return std::nullopt;  // the program's own words, for which no model was asked
  }
  told.request = request_of(record, *said);
  told.request_anywhere = told.request;
  told.may_grow = true;
  return told;
}

Result<std::shared_ptr<const Content>> Renderer::context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                         std::shared_ptr<const BlobSource> /*blobs*/) const {
  return replay(path, std::move(log));
}

}  // namespace arborfs::claude
