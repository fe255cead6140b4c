#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/entry/content.h"
#include "core/entry/context_path.h"
#include "core/entry/message_renderer.h"
#include "core/entry/text.h"
#include "core/entry/usage.h"
#include "core/formats/claude/format.h"
#include "core/formats/claude/row.h"
#include "core/formats/claude/sent_pieces.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/log/log_source.h"

namespace arborfs::claude {
namespace {

/// The texts, images, usage and context of Claude Code's rows (claude/FORMAT.md B3, E, F). Thread-safe.
class Renderer : public MessageRenderer {
 public:
  [[nodiscard]] bool is_in_transcript(std::string_view name) const override;
  /// `{"messages":[` newline, each message that the program would send on its own line, `]}` newline.
  [[nodiscard]] Result<std::shared_ptr<const Content>> context(const ContextPath& path,
                                                               std::shared_ptr<const LogSource> log,
                                                               std::shared_ptr<const BlobSource> blobs) const override;
  /// Some versions write each row of an answer before they know its stop_reason.
  [[nodiscard]] TurnEnd turn_end(std::string_view raw) const override;
  /// What is sent of the row.
  void add_turns(const SpokenEntry& entry, std::vector<Turn>& turns) const override;
  Result<void> read_turns(const SpokenPath& spoken, const TakeTurns& take) const override;

 protected:
  [[nodiscard]] std::optional<Message> message_of(EntryType type, const json::Value& record) const override;
  [[nodiscard]] std::string typed_in(std::string_view text) const override;
  [[nodiscard]] std::string command_in(std::string_view text) const override;
  [[nodiscard]] std::optional<RecordUsage> usage_of(EntryType type, const json::Value& record) const override;
};

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
  std::vector<std::span<const Piece>> messages;
  for (std::size_t first = 0; first < pieces.size();) {
    std::size_t end = first + 1;
    while (end < pieces.size() && pieces[end].role == pieces[first].role) {
      ++end;
    }
    messages.push_back(std::span(pieces).subspan(first, end - first));
    first = end;
  }
  return message_list(
      messages, [&](Content& content, std::span<const Piece> message) { return add_message(content, log, message); });
}

/// The members that hold what a hook said.
constexpr std::array<std::string_view, 6> kHookTexts = {"content", "message", "blockingError",
                                                        "stdout",  "stderr",  "systemMessage"};
constexpr int kDeepestContent = 3;  // blocks in the result of a tool, and one level to spare

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
    return add_text(message, MessagePart::Kind::text, json::text_member(*source, "data"));
  }
  const bool has_bytes = source != nullptr && json::is_string(json::member(*source, "type"), "base64");
  message.push_back({MessagePart::Kind::image, source == nullptr ? "" : json::text_member(*source, "media_type"), "",
                     has_bytes ? json::member(*source, "data") : nullptr});
}

void add_call(Message& message, const json::Value& call) {
  const json::Value* input = json::member(call, "input");
  message.push_back({MessagePart::Kind::tool_call, input == nullptr ? "" : json::stringify(*input),
                     json::text_member(call, "name"), nullptr});
}

/// Adds one block, whose text is of kind `said`; the result of a tool has blocks of its own, which are returned.
const json::Value* add_block(Message& message, const json::Value& block, MessagePart::Kind said) {
  const auto type = json::string_member(block, "type").value_or("");
  if (type == "text") {
    add_text(message, said, json::text_member(block, "text"));
  } else if (type == "thinking") {
    add_text(message, MessagePart::Kind::thinking, json::text_member(block, "thinking"));
  } else if (type == "redacted_thinking") {
    add_text(message, MessagePart::Kind::thinking, "(redacted)");
  } else if (type == "tool_use" || type == "server_tool_use" || type == "mcp_tool_use") {
    add_call(message, block);
  } else if (type == "image" || type == "document") {
    add_image(message, block);
  } else if (type == "web_search_result") {
    add_text(message, said, json::text_member(block, "title") + "\n" + json::text_member(block, "url"));
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
  const std::string type = json::text_member(*attachment, "type");
  const json::Value* prompt = json::member(*attachment, "prompt");
  if (prompt != nullptr && type == "queued_command") {
    add_content(message, prompt);
  } else if (const std::string hook = json::text_member(*attachment, "hookName"); !hook.empty()) {
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
    message.push_back({MessagePart::Kind::fields, own_members(record), json::text_member(record, "subtype"), nullptr});
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
  const std::string id = json::text_member(message, "id");
  return id.empty() ? json::text_member(record, "uuid") : id;
}

void take_number(double& number, const json::Value& usage, std::string_view key) {
  number = json::number_member(usage, key).value_or(number);
}

// What a person typed of a text in the user's name (claude/FORMAT.md D3).

constexpr std::array kElements = std::to_array<std::string_view>(
    {"system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics", "new-diagnostics", "task-notification",
     "teammate-message", "local-command-caveat", "local-command-stdout", "local-command-stderr", "bash-stdout",
     "bash-stderr", "command-message", "command-contents", "user-prompt-submit-hook", "post-tool-use-hook",
     "session-start-hook"});

/// A text that begins so is the program's.
constexpr std::array kNotices = std::to_array<std::string_view>(
    {"This session is being continued from a previous conversation", "[Request interrupted by user",
     "Stop hook feedback", "Caveat: The messages below were generated by the user while running local commands",
     "<command-name>", "<command-args>", "<bash-input>"});

// Translates what is sent of rows into turns of a conversation (claude/FORMAT.md B3, E2, F).

using Kind = TurnPart::Kind;

/// The model of answers that the program wrote itself (F2).
constexpr std::string_view kNoModel = "<synthetic>";

TurnImage image_in(const json::Value& block) {
  const json::Value* source = json::member(block, "source");
  if (source == nullptr) {
    return {};
  }
  const bool has_bytes = json::is_string(json::member(*source, "type"), "base64");
  return {json::text_member(*source, "media_type"), has_bytes ? json::text_member(*source, "data") : "",
          json::text_member(*source, "url")};
}

/// The output of a tool: a string, or blocks of text and images.
TurnPart result_in(const json::Value& block) {
  TurnPart result{Kind::tool_result, "", json::text_member(block, "tool_use_id")};
  result.is_error = json::is_truthy(json::member(block, "is_error"));
  const json::Value* content = json::member(block, "content");
  if (content != nullptr && content->IsString()) {
    result.text = json::as_string(*content);
  } else if (content != nullptr && content->IsArray()) {
    for (const json::Value& inner : content->GetArray()) {
      if (json::is_string(json::member(inner, "type"), "image")) {
        result.images.push_back(image_in(inner));
      } else {
        const auto text = json::string_member(inner, "text");
        result.text.append(result.text.empty() ? "" : "\n").append(text ? *text : json::stringify(inner));
      }
    }
  }
  return result;
}

void add_part(Turn& turn, const json::Value& block) {
  const auto type = json::string_member(block, "type").value_or("");
  if (type == "text") {
    turn.add(Kind::text, json::text_member(block, "text"));
  } else if (type == "thinking") {
    turn.add(Kind::reasoning, json::text_member(block, "thinking"));
  } else if (type == "redacted_thinking") {
    turn.add(Kind::reasoning, "(redacted)");
  } else if (type == "tool_use") {
    const json::Value* input = json::member(block, "input");
    turn.add_call(json::text_member(block, "id"), json::text_member(block, "name"),
                  input == nullptr ? "{}" : json::stringify(*input));
  } else if (type == "image" || type == "document") {
    turn.add_image(image_in(block));
  } else {
    turn.add(Kind::text, json::stringify(block));
  }
}

void add_content_to(const json::Value& content, Turn& turn, Turn& results) {
  if (content.IsString()) {
    turn.add(Kind::text, std::string(json::as_string(content)));
  } else if (content.IsArray()) {
    for (const json::Value& block : content.GetArray()) {
      if (json::is_string(json::member(block, "type"), "tool_result")) {
        results.parts.push_back(result_in(block));
      } else {
        add_part(turn, block);
      }
    }
  }
}

/// True for a row that is neither a prompt nor an answer nor a result of a tool: its text stands for something else.
bool is_note(std::string_view row, const json::Value& content) {
  const std::string_view type = skim::member(row, "type");
  if (skim::is_string(type, "attachment")) {
    return !skim::is_string(skim::member(skim::member(row, "attachment"), "type"), "queued_command");
  }
  if (!skim::is_string(type, "user")) {
    return skim::is_string(type, "system");
  }
  return skim::is_truthy(skim::member(row, "isMeta")) || skim::is_truthy(skim::member(row, "isCompactSummary")) ||
         (content.IsString() && is_command_text(json::as_string(content)));
}

std::int64_t time_of(std::string_view row) {
  const auto timestamp = skim::string_value(skim::member(row, "timestamp"));
  return (timestamp ? json::parse_date(*timestamp) : std::nullopt).value_or(Entry::kNoTime);
}

/// `row` are the bytes of the piece's row.
std::vector<Turn> turns_of(std::string_view row, const Piece& piece) {
  const std::string_view sent = row.substr(piece.offset - piece.row, piece.length);
  json::Document content;
  if (!json::parse(piece.is_string ? std::string(sent) : "[" + std::string(sent) + "]", content)) {
    return {};
  }
  Turn turn;
  Turn results;
  results.speaker = Turn::Speaker::tool;
  turn.time_ms = results.time_ms = time_of(row);
  if (piece.role == "assistant") {
    const auto model = skim::text_member(skim::member(row, "message"), "model");
    turn.speaker = Turn::Speaker::assistant;
    turn.provider = "anthropic";
    turn.model = model == kNoModel ? "" : model;
  }
  turn.is_note = is_note(row, content);
  add_content_to(content, turn, results);
  return {std::move(results), std::move(turn)};
}

}  // namespace

TurnEnd Renderer::turn_end(std::string_view raw) const {
  const std::string reason = skim::text_member(skim::member(raw, "message"), "stop_reason");
  if (reason.empty()) {
    return TurnEnd::not_told;
  }
  return reason == "tool_use" || reason == "pause_turn" ? TurnEnd::goes_on : TurnEnd::over;
}

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
  if (const json::Value* written = json::member(*usage, "cache_creation")) {
    take_number(told.usage.cache_write_1h, *written, "ephemeral_1h_input_tokens");
  }
  if (const json::Value* details = json::member(*usage, "output_tokens_details")) {
    take_number(told.usage.reasoning, *details, "thinking_tokens");
  }
  told.model = json::text_member(*said, "model");
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

std::string Renderer::typed_in(std::string_view text) const {
  std::string typed = without_elements(text, kElements);
  const bool is_notice =
      std::any_of(kNotices.begin(), kNotices.end(), [&](std::string_view notice) { return typed.starts_with(notice); });
  return is_notice ? "" : typed;
}

std::string Renderer::command_in(std::string_view text) const {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const std::string_view record = text.substr(std::min(begin, text.size()));
  if (record.starts_with("<bash-input>")) {
    const std::string_view input = element_in(record, "bash-input");
    return input.empty() ? "" : "!" + std::string(input);
  }
  if (!record.starts_with("<command-name>") && !record.starts_with("<command-message>")) {
    return "";
  }
  const std::string_view name = element_in(record, "command-name");
  const std::string_view arguments = element_in(record, "command-args");
  const std::string_view shown = name.empty() ? element_in(record, "command-message") : name;
  return std::string(shown) + (arguments.empty() ? "" : " ") + std::string(arguments);
}

void Renderer::add_turns(const SpokenEntry& entry, std::vector<Turn>& turns) const {
  std::vector<Piece> pieces;
  add_pieces(entry.raw, 0, kNoEntry, pieces);
  for (const Piece& piece : pieces) {
    auto said = turns_of(entry.raw, piece);
    std::move(said.begin(), said.end(), std::back_inserter(turns));
  }
}

Result<void> Renderer::read_turns(const SpokenPath& spoken, const TakeTurns& take) const {
  ASSIGN_OR_RETURN(const auto pieces, sent_pieces(spoken.path, *spoken.log, spoken.reach));
  for (const Piece& piece : pieces) {
    ASSIGN_OR_RETURN(const auto row, read_spoken(*spoken.log, piece.row, piece.row_length));
    RETURN_IF_ERROR(take(piece.entry, turns_of(row, piece)));
  }
  return {};
}

const RecordRenderer& renderer() {
  static const Renderer renderer;
  return renderer;
}

}  // namespace arborfs::claude
