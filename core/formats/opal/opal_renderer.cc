#include "core/formats/opal/opal_renderer.h"

#include <utility>

#include "core/base/result_macros.h"
#include "core/json/document.h"

namespace arborfs::opal {
namespace {

std::string text_of(const json::Value& record, std::string_view key) {
  return std::string(json::string_member(record, key).value_or(""));
}

void add_text(Message& message, MessagePart::Kind kind, std::string text) {
  if (!text.empty()) {
    message.push_back({kind, std::move(text), ""});
  }
}

void add_calls(Message& message, const json::Value* calls) {
  if (calls == nullptr || !calls->IsArray()) {
    return;
  }
  for (const json::Value& call : calls->GetArray()) {
    const json::Value* arguments = json::member(call, "arguments");
    message.push_back(
        {MessagePart::Kind::tool_call, arguments == nullptr ? "" : json::stringify(*arguments), text_of(call, "name")});
  }
}

}  // namespace

std::optional<Message> Renderer::message_of(EntryType /*type*/, const json::Value& record) const {
  const auto role = json::string_member(record, "role");
  if (!role) {
    return std::nullopt;
  }
  Message message;
  add_text(message, MessagePart::Kind::thinking, text_of(record, "thinking"));
  if (role == "tool_call") {
    message.push_back({MessagePart::Kind::tool_call, text_of(record, "content"), text_of(record, "name")});
    return message;
  }
  const json::Value* is_error = json::member(record, "is_error");
  if (is_error != nullptr && is_error->IsTrue()) {
    message.push_back({MessagePart::Kind::tool_error, "", text_of(record, "name")});
  }
  const bool is_output = role->starts_with("tool");
  add_text(message, is_output ? MessagePart::Kind::tool_output : MessagePart::Kind::text, text_of(record, "content"));
  add_calls(message, json::member(record, "tool_calls"));
  return message;
}

Result<std::shared_ptr<const Content>> Renderer::context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                         std::shared_ptr<const BlobSource> /*blobs*/) const {
  auto content = std::make_shared<Content>();
  content->add_text("{\"messages\":[");
  std::string_view before = "\n";
  for (const ContextPath::Step& step : path.steps) {
    content->add_text(before);
    RETURN_IF_ERROR(content->add_json(log, step.entry.offset, step.length));
    before = ",\n";
  }
  content->add_text("\n]}\n");
  return std::shared_ptr<const Content>(std::move(content));
}

}  // namespace arborfs::opal
