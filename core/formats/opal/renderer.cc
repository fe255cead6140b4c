#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/entry/message_renderer.h"
#include "core/formats/opal/format.h"
#include "core/json/document.h"

namespace arborfs::opal {
namespace {

/// The texts and the context of Opal's messages (opal/FORMAT.md B3, C3). Thread-safe.
class Renderer : public MessageRenderer {
 public:
  /// `{"messages":[` newline, each message of the path on its own line as it is in the log, `]}` newline.
  [[nodiscard]] Result<std::shared_ptr<const Content>> context(const ContextPath& path,
                                                               std::shared_ptr<const LogSource> log,
                                                               std::shared_ptr<const BlobSource> blobs) const override;

 protected:
  [[nodiscard]] std::optional<Message> message_of(EntryType type, const json::Value& record) const override;
  bool add_turns_of(const SpokenEntry& entry, const json::Value& record, std::vector<Turn>& turns) const override;
};

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
    message.push_back({MessagePart::Kind::tool_call, arguments == nullptr ? "" : json::stringify(*arguments),
                       json::text_member(call, "name"), nullptr, json::text_member(call, "call_id")});
  }
}

}  // namespace

std::optional<Message> Renderer::message_of(EntryType /*type*/, const json::Value& record) const {
  const auto role = json::string_member(record, "role");
  if (!role) {
    return std::nullopt;
  }
  Message message;
  add_text(message, MessagePart::Kind::thinking, json::text_member(record, "thinking"));
  if (role == "tool_call") {
    message.push_back({MessagePart::Kind::tool_call, json::text_member(record, "content"),
                       json::text_member(record, "name"), nullptr, json::text_member(record, "call_id")});
    return message;
  }
  const json::Value* is_error = json::member(record, "is_error");
  if (is_error != nullptr && is_error->IsTrue()) {
    message.push_back({MessagePart::Kind::tool_error, "", json::text_member(record, "name")});
  }
  const bool is_output = role->starts_with("tool");
  add_text(message, is_output ? MessagePart::Kind::tool_output : MessagePart::Kind::text,
           json::text_member(record, "content"));
  add_calls(message, json::member(record, "tool_calls"));
  return message;
}

Result<std::shared_ptr<const Content>> Renderer::context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                         std::shared_ptr<const BlobSource> /*blobs*/) const {
  return message_list(path.steps, [&](Content& content, const ContextPath::Step& step) {
    return content.add_json(log, step.entry.offset, step.length);
  });
}

bool Renderer::add_turns_of(const SpokenEntry& entry, const json::Value& record, std::vector<Turn>& turns) const {
  const auto role = json::string_member(record, "role").value_or("");
  if (role == "system") {
    return true;
  }
  const auto message = message_of(entry.type, record);
  Turn turn;
  turn.time_ms = entry.time_ms;
  if (role == "tool_result") {
    turn.speaker = Turn::Speaker::tool;
    turn.parts.push_back(result_in(*message, json::text_member(record, "call_id"), json::text_member(record, "name")));
  } else if (role == "tool_call" || role == "user" || role == "assistant") {
    turn.speaker = role == "user" ? Turn::Speaker::user : Turn::Speaker::assistant;
    turn.add(*message);
  } else {
    return false;
  }
  turns.push_back(std::move(turn));
  return true;
}

const RecordRenderer& renderer() {
  static const Renderer renderer;
  return renderer;
}

}  // namespace arborfs::opal
