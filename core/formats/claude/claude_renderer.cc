#include "core/formats/claude/claude_renderer.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/claude/sent_pieces.h"
#include "core/json/document.h"
#include "core/log/log_source.h"
#include "core/model/content.h"
#include "core/model/context_path.h"
#include "core/model/model_name.h"

namespace arborfs::claude {
namespace {

// The messages that the program sends to its model when a session is resumed (claude/FORMAT.md F). Refers to ranges of
// the log, so a context of any length takes little memory. Any thread.

Result<void> add_piece(Content& content, const std::shared_ptr<const LogSource>& log, const Piece& piece) {
  if (!piece.is_utf8) {
    return content.add_json(log, piece.offset, piece.length);
  }
  content.add_range(log, piece.offset, piece.length);
  return {};
}

/// Consecutive pieces of one role are one message.
Result<void> add_message(Content& content, const std::shared_ptr<const LogSource>& log, std::span<const Piece> pieces) {
  content.add_text("{\"role\":\"" + std::string(pieces.front().role) + "\",\"content\":");
  if (pieces.size() == 1 && pieces.front().is_string) {
    RETURN_IF_ERROR(add_piece(content, log, pieces.front()));
    content.add_text("}");
    return {};
  }
  std::string_view before = "[";
  for (const Piece& piece : pieces) {
    content.add_text(before);
    content.add_text(piece.is_string ? R"({"type":"text","text":)" : "");
    RETURN_IF_ERROR(add_piece(content, log, piece));
    content.add_text(piece.is_string ? "}" : "");
    before = ",";
  }
  content.add_text("]}");
  return {};
}

/// Errors: stale, io.
Result<std::shared_ptr<const Content>> replay(const ContextPath& path, std::shared_ptr<const LogSource> log) {
  ASSIGN_OR_RETURN(const auto pieces, sent_pieces(path, *log, Reach::context));
  auto content = std::make_shared<Content>();
  content->add_text("{\"messages\":[");
  std::string_view before = "\n";
  for (std::size_t first = 0; first < pieces.size();) {
    std::size_t end = first + 1;
    while (end < pieces.size() && pieces[end].role == pieces[first].role) {
      ++end;
    }
    content->add_text(before);
    RETURN_IF_ERROR(add_message(*content, log, std::span(pieces).subspan(first, end - first)));
    before = ",\n";
    first = end;
  }
  content->add_text("\n]}\n");
  return std::shared_ptr<const Content>(std::move(content));
}

/// The members that hold what a hook said.
constexpr std::array<std::string_view, 6> kHookTexts = {"content", "message", "blockingError",
                                                        "stdout",  "stderr",  "systemMessage"};
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
  message.push_back({MessagePart::Kind::fields, json::stringify(value), std::move(name), nullptr});
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

/// Adds one block, whose text is of kind `said`; the result of a tool has blocks of its own, which are returned.
const json::Value* add_block(Message& message, const json::Value& block, MessagePart::Kind said) {
  const auto type = json::string_member(block, "type").value_or("");
  if (type == "text") {
    add_text(message, said, string_in(block, "text"));
  } else if (type == "thinking") {
    add_text(message, MessagePart::Kind::thinking, string_in(block, "thinking"));
  } else if (type == "redacted_thinking") {
    add_text(message, MessagePart::Kind::thinking, "(redacted)");
  } else if (type == "tool_use" || type == "server_tool_use" || type == "mcp_tool_use") {
    add_call(message, block);
  } else if (type == "image" || type == "document") {
    add_image(message, block);
  } else if (type == "web_search_result") {
    add_text(message, said, string_in(block, "title") + "\n" + string_in(block, "url"));
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
  const auto said = [&depth] { return depth > 0 ? MessagePart::Kind::tool_output : MessagePart::Kind::text; };
  const auto enter = [&](const json::Value* inner, MessagePart::Kind kind) {
    if (inner != nullptr && inner->IsString()) {
      add_text(message, kind, std::string(json::as_string(*inner)));
    } else if (inner != nullptr && inner->IsArray() && depth + 1 < kDeepestContent) {
      open[static_cast<std::size_t>(++depth)] = {inner, 0};
    }
  };
  enter(content, MessagePart::Kind::text);
  while (depth >= 0) {
    Open& at = open[static_cast<std::size_t>(depth)];
    if (at.next == at.list->Size()) {
      --depth;
      continue;
    }
    const json::Value& block = (*at.list)[at.next++];
    if (block.IsString()) {
      enter(&block, said());
    } else {
      enter(add_block(message, block, said()), MessagePart::Kind::tool_output);
    }
  }
}

/// Appends a text without its tags.
void append_untagged(std::string& words, std::string_view text) {
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('<'), text.size());
    const std::size_t close = std::min(text.find('>', open), text.size());
    words.append(text.substr(0, open));
    text.remove_prefix(std::min(close + 1, text.size()));
  }
}

/// The words of a notice that a task in the background has ended, without its tags; the task's result is kept as it is
/// (claude/FORMAT.md B3).
std::string words_of_notice(std::string_view notice) {
  constexpr std::string_view kResult = "<result>";
  const std::size_t begin = std::min(notice.find(kResult), notice.size());
  const std::size_t end = std::min(notice.rfind("</result>"), notice.size());
  std::string words;
  append_untagged(words, notice.substr(0, begin));
  if (begin < end) {
    words.append(notice.substr(begin + kResult.size(), end - begin - kResult.size()));
    append_untagged(words, notice.substr(end));
  }
  return words.substr(std::min(words.find_first_not_of(" \n"), words.size()));
}

/// What a hook said, after its name (claude/FORMAT.md B8).
Message hook_of(const json::Value& attachment, std::string_view name) {
  Message said;
  for (const std::string_view key : kHookTexts) {
    const json::Value* text = json::member(attachment, key);
    const json::Value* inner = text != nullptr && text->IsObject() ? json::member(*text, key) : text;
    add_content(said, inner);
  }
  std::string words(name);
  std::string_view before = ": ";
  for (const MessagePart& part : said) {
    if (!part.text.empty() && words.find(part.text) == std::string::npos) {
      words.append(std::exchange(before, "\n")).append(part.text);
    }
  }
  Message message;
  add_text(message, MessagePart::Kind::text, std::move(words));
  return message;
}

/// The content that the program adds to the conversation: as it is sent (claude/FORMAT.md F3), else as it says it.
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
  if (attachment == nullptr || !attachment->IsObject()) {
    return std::nullopt;
  }
  const std::string type = string_in(*attachment, "type");
  const json::Value* prompt = json::member(*attachment, "prompt");
  if (prompt != nullptr && type == "queued_command") {
    add_content(message, prompt);
  } else if (const std::string hook = string_in(*attachment, "hookName"); !hook.empty()) {
    return hook_of(*attachment, hook);
  } else {
    add_value(message, "", *attachment);
  }
  return message;
}

/// The members of a row that only it has, not those of every row of the tree (claude/FORMAT.md B3).
std::string own_members(const json::Value& record) {
  constexpr std::array<std::string_view, 16> kShared = {
      "type",      "uuid",     "parentUuid", "timestamp", "isSidechain", "sessionId", "cwd",     "version",
      "gitBranch", "userType", "entrypoint", "slug",      "agentId",     "isMeta",    "subtype", "logicalParentUuid"};
  json::Document own(rapidjson::kObjectType);
  for (const auto& member : json::members(record)) {
    if (std::find(kShared.begin(), kShared.end(), json::as_string(member.name)) == kShared.end()) {
      own.AddMember(json::copy(member.name, own), json::copy(member.value, own), own.GetAllocator());
    }
  }
  return json::stringify(own);
}

/// What the program notes: its words, else its members.
std::optional<Message> system_of(const json::Value& record) {
  if (!record.IsObject()) {
    return std::nullopt;
  }
  Message message;
  if (const auto content = json::string_member(record, "content")) {
    add_text(message, MessagePart::Kind::text, std::string(*content));
  } else {
    message.push_back({MessagePart::Kind::fields, own_members(record), string_in(record, "subtype"), nullptr});
  }
  return message;
}

std::optional<Message> said_by(const json::Value& record) {
  const json::Value* said = json::member(record, "message");
  const json::Value* content = said == nullptr ? nullptr : json::member(*said, "content");
  if (content == nullptr || (!content->IsString() && !content->IsArray())) {
    return std::nullopt;
  }
  Message message;
  add_content(message, content);
  return message;
}

bool is_notice(const Message& message) {
  return !message.empty() && message.front().kind == MessagePart::Kind::text &&
         message.front().text.starts_with("<task-notification>");
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
  auto message = type == "attachment" ? attachment_of(record) : type == "system" ? system_of(record) : said_by(record);
  if (message && is_notice(*message)) {
    message->front().text = words_of_notice(message->front().text);
  }
  return message;
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
