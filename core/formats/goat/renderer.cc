#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/entry/message_renderer.h"
#include "core/formats/goat/format.h"
#include "core/formats/goat/go_json.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"

namespace arborfs::goat {
namespace {

/// The texts and the context of goat's messages (goat/FORMAT.md C2, C3). Thread-safe.
class Renderer : public MessageRenderer {
 public:
  /// `{"messages":[` newline, each message on its own line, `]}` newline. A message is the bytes of its object in the
  /// nested shape; in the flat shape, the bytes of its members without uuid and timestamp.
  [[nodiscard]] Result<std::shared_ptr<const Content>> context(const ContextPath& path,
                                                               std::shared_ptr<const LogSource> log,
                                                               std::shared_ptr<const BlobSource> blobs) const override;

 protected:
  [[nodiscard]] std::optional<Message> message_of(EntryType type, const json::Value& record) const override;
  bool add_turns_of(const SpokenEntry& entry, const json::Value& record, std::vector<Turn>& turns) const override;
};

/// The message in a record of either shape.
const json::Value& body_of(const json::Value& record) {
  const json::Value* nested = go_member(record, "message");
  return nested != nullptr && nested->IsObject() ? *nested : record;
}

void add_text(Message& message, std::string text) {
  if (!text.empty()) {
    message.push_back({MessagePart::Kind::text, std::move(text), ""});
  }
}

void add_part(Message& message, const json::Value& part) {
  if (go_string(go_member(part, "type")) == "text") {
    return add_text(message, go_string(go_member(part, "text")));
  }
  const json::Value* image = go_member(part, "image_url");
  if (image != nullptr && image->IsObject()) {
    message.push_back({MessagePart::Kind::image, "", "", go_member(*image, "url")});
    return;
  }
  message.push_back({MessagePart::Kind::fields, json::stringify(part), ""});
}

void add_content(Message& message, const json::Value& content) {
  if (content.IsString() || content.IsNull()) {
    return add_text(message, go_string(&content));
  }
  if (!content.IsArray()) {
    return message.push_back({MessagePart::Kind::fields, json::stringify(content), ""});
  }
  for (const json::Value& part : content.GetArray()) {
    add_part(message, part);
  }
}

void add_calls(Message& message, const json::Value& calls) {
  if (!calls.IsArray()) {
    return;
  }
  for (const json::Value& call : calls.GetArray()) {
    const json::Value* function = go_member(call, "function");
    std::string name = function == nullptr ? "" : go_string(go_member(*function, "name"));
    std::string arguments = function == nullptr ? "" : go_string(go_member(*function, "arguments"));
    message.push_back({MessagePart::Kind::tool_call, std::move(arguments), std::move(name), nullptr,
                       go_string(go_member(call, "id"))});
  }
}

/// `part` is at `offset`.
Result<void> add_json(Content& content, const std::shared_ptr<const LogSource>& log, std::uint64_t offset,
                      std::string_view part) {
  if (!json::is_valid_utf8(part)) {
    return content.add_json(log, offset, part.size(), go_utf8);
  }
  content.add_range(log, offset, part.size());
  return {};
}

/// Adds the members of a flat record that are the message's.
Result<void> add_flat(Content& content, const std::shared_ptr<const LogSource>& log, std::uint64_t offset,
                      std::string_view raw) {
  std::string_view before = "{";
  for (skim::Cursor members(raw); members.next();) {
    if (spells_key_of(members.key(), "uuid") || spells_key_of(members.key(), "timestamp") ||
        spells_key_of(members.key(), "message")) {
      continue;
    }
    const char* const begin = members.key().data() - 1;
    const char* const end = members.value().data() + members.value().size();
    content.add_text(before);
    RETURN_IF_ERROR(add_json(content, log, offset + static_cast<std::uint64_t>(begin - raw.data()),
                             {begin, static_cast<std::size_t>(end - begin)}));
    before = ",";
  }
  content.add_text(before == "{" ? "{}" : "}");
  return {};
}

Result<void> add_message(Content& content, const std::shared_ptr<const LogSource>& log, std::uint64_t offset,
                         std::string_view raw) {
  const std::string_view nested = go_member(raw, "message");
  return nested.starts_with('{')
             ? add_json(content, log, offset + static_cast<std::uint64_t>(nested.data() - raw.data()), nested)
             : add_flat(content, log, offset, raw);
}

}  // namespace

std::optional<Message> Renderer::message_of(EntryType /*type*/, const json::Value& record) const {
  const json::Value& body = body_of(record);
  const json::Value* content = go_member(body, "content");
  const json::Value* calls = go_member(body, "tool_calls");
  if (content == nullptr && calls == nullptr && go_member(body, "role") == nullptr) {
    return std::nullopt;
  }
  Message message;
  if (content != nullptr) {
    add_content(message, *content);
  }
  if (go_string(go_member(body, "role")) == "tool") {
    make_output(message);
  }
  if (calls != nullptr) {
    add_calls(message, *calls);
  }
  return message;
}

Result<std::shared_ptr<const Content>> Renderer::context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                         std::shared_ptr<const BlobSource> /*blobs*/) const {
  return message_list(path.steps, [&](Content& content, const ContextPath::Step& step) -> Result<void> {
    ASSIGN_OR_RETURN(const auto raw, log->read(step.entry.offset, step.length));
    return add_message(content, log, step.entry.offset, raw);
  });
}

bool Renderer::add_turns_of(const SpokenEntry& entry, const json::Value& record, std::vector<Turn>& turns) const {
  const json::Value& body = body_of(record);
  const std::string role = go_string(go_member(body, "role"));
  if (role == "system") {
    return true;
  }
  const auto message = message_of(entry.type, record);
  Turn turn;
  turn.time_ms = entry.time_ms;
  if (role == "tool") {
    turn.speaker = Turn::Speaker::tool;
    turn.parts.push_back(
        result_in(*message, go_string(go_member(body, "tool_call_id")), go_string(go_member(body, "name"))));
  } else if (role == "user" || role == "assistant") {
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

}  // namespace arborfs::goat
