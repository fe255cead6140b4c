#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/entry/content.h"
#include "core/entry/context_path.h"
#include "core/entry/message_renderer.h"
#include "core/entry/text.h"
#include "core/entry/turn.h"
#include "core/formats/codex/format.h"
#include "core/formats/codex/history.h"
#include "core/formats/codex/record.h"
#include "core/formats/codex/rollout_record.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"

namespace arborfs::codex {
namespace {

// The content of Codex's items and events, for people (codex/FORMAT.md E, G). Pure; any thread.

using Kind = MessagePart::Kind;

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
    std::string text = json::text_member(item, "text");
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
      add_part(message, Kind::thinking,
               item.IsString() ? std::string(json::as_string(item)) : json::text_member(item, "text"));
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
    const double code = metadata == nullptr ? 0 : json::number_member(*metadata, "exit_code").value_or(0);
    if (code != 0) {
      add_part(message, Kind::text, "exit code " + json::number_text(code));
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
  const std::string author = json::text_member(payload, "author");
  const std::string recipient = json::text_member(payload, "recipient");
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
  const auto first = lines == nullptr ? std::nullopt : json::number_member(*lines, "start");
  if (place != nullptr) {
    words += "\n" + json::text_member(*place, "absolute_file_path");
  }
  if (first) {
    words += ":" + json::number_text(*first);
  }
}

/// What a reviewer found.
void add_review(Message& message, const json::Value& event) {
  const json::Value* output = json::member(event, "review_output");
  const json::Value* findings = output == nullptr ? nullptr : json::member(*output, "findings");
  if (findings != nullptr && findings->IsArray()) {
    for (const json::Value& finding : findings->GetArray()) {
      std::string words = json::text_member(finding, "title");
      add_location(words, finding);
      add_part(message, Kind::text, std::move(words));
      add_part(message, Kind::text, json::text_member(finding, "body"));
    }
  }
  if (output != nullptr) {
    add_part(message, Kind::text, json::text_member(*output, "overall_explanation"));
    add_part(message, Kind::text, json::text_member(*output, "overall_correctness"));
  }
  add_part(message, Kind::text, json::text_member(event, "user_facing_hint"));
}

/// A list of things to do, with a word for the state of each.
void add_steps(Message& message, const json::Value& event) {
  add_part(message, Kind::text, json::text_member(event, "explanation"));
  const json::Value* steps = json::member(event, "plan");
  std::string list;
  if (steps != nullptr && steps->IsArray()) {
    for (const json::Value& step : steps->GetArray()) {
      const std::string status = json::text_member(step, "status");
      list += (list.empty() ? "- " : "\n- ") + json::text_member(step, "step") +
              (status.empty() ? "" : " (" + status + ")");
    }
  }
  add_part(message, Kind::text, std::move(list));
}

/// The item of a record, or of a line of the first formats that is an item itself; null for other records.
const json::Value* item_of(const json::Value& record) {
  const json::Value* payload = json::member(record, "payload");
  if (payload != nullptr && payload->IsObject()) {
    return json::is_string(json::member(record, "type"), "response_item") ? payload : nullptr;
  }
  return record.IsObject() ? &record : nullptr;
}

/// Its type; for an item without one, the type of items of its shape; "" if there is none.
std::string_view type_of_item(const json::Value& item) {
  if (const auto type = json::string_member(item, "type")) {
    return *type;
  }
  const std::string_view known = item_type_of({has(item, "role"), has(item, "content"), has(item, "output"),
                                               has(item, "arguments"), has(item, "input"), has(item, "summary")});
  return known.empty() && has(item, "author") ? "agent_message" : known;
}

/// An item of an unknown type is a value.
Message message_of_item(const json::Value& item) {
  const std::string_view type = type_of_item(item);
  Message message;
  if (type == "message") {
    add_content(message, item);
  } else if (type == "reasoning") {
    add_reasoning(message, item);
  } else if (type == "function_call") {
    add_call(message, json::text_member(item, "name"), json::member(item, "arguments"));
  } else if (type == "custom_tool_call") {
    add_call(message, json::text_member(item, "name"), json::member(item, "input"));
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

/// The same for the payload of an event.
Message message_of_event(const json::Value& event) {
  Message message;
  const json::Value* item = json::member(event, "item");
  if (item != nullptr && item->IsObject()) {
    add_part(message, Kind::text, json::text_member(*item, "text"));
    add_content(message, *item);
    return message;
  }
  add_part(message, Kind::text, json::text_member(event, "message"));
  add_part(message, Kind::text, json::text_member(event, "summary"));
  add_part(message, Kind::text, json::text_member(event, "details"));
  add_part(message, Kind::text, json::text_member(event, "unified_diff"));
  add_review(message, event);
  add_steps(message, event);
  if (const json::Value* goal = json::member(event, "goal")) {
    add_part(message, Kind::text, json::text_member(*goal, "objective"));
  }
  add_value(message, message.empty() ? &event : nullptr);
  return message;
}

/// The texts, usage and context of Codex's records (codex/FORMAT.md E, F). Thread-safe.
class Renderer : public MessageRenderer {
 public:
  /// Excludes messages that Codex inserted for the model, and the records of usage.
  [[nodiscard]] bool is_in_transcript(std::string_view name) const override;
  /// As build_context().
  [[nodiscard]] Result<std::shared_ptr<const Content>> context(const ContextPath& path,
                                                               std::shared_ptr<const LogSource> log,
                                                               std::shared_ptr<const BlobSource> blobs) const override;
  Result<void> read_turns(const SpokenPath& spoken, const TakeTurns& take) const override;

 protected:
  [[nodiscard]] std::optional<Message> message_of(EntryType type, const json::Value& record) const override;
  /// Without what editors and Codex put before the request (codex/FORMAT.md E1).
  [[nodiscard]] std::string typed_in(std::string_view text) const override;
  [[nodiscard]] std::string command_in(std::string_view text) const override;
  bool add_turns_of(const SpokenEntry& entry, const json::Value& record, std::vector<Turn>& turns) const override;
  [[nodiscard]] std::optional<RecordUsage> usage_of(EntryType type, const json::Value& record) const override;
};

/// `{"messages":[` newline, each item on its own line, `]}` newline. Items are copied unchanged from the log, except
/// for the messages into which Codex turns a compaction without a replacement_history. Errors: stale, io.
Result<std::shared_ptr<const Content>> build_context(const ContextPath& path, std::shared_ptr<const LogSource> log) {
  ASSIGN_OR_RETURN(const auto items, history_of(path, *log));
  return message_list(items, [&](Content& content, const HistoryItem& item) -> Result<void> {
    if (item.made.empty()) {
      content.add_range(log, item.offset, item.length);
    } else {
      content.add_text(item.made);
    }
    return {};
  });
}

const json::Value* member_of(const json::Value* object, std::string_view key) {
  return object == nullptr ? nullptr : json::member(*object, key);
}

/// The usage that a record of either kind tells (codex/FORMAT.md F1, F2).
struct Told {
  const json::Value* usage = nullptr;  // of one response
  const json::Value* sums = nullptr;   // of the thread so far
  std::string response;
  std::string thread;  // the thread of the response; "" if the record does not name it

  [[nodiscard]] const json::Value* shown() const { return usage != nullptr ? usage : sums; }
};

const json::Value* object_in(const json::Value* object, std::string_view key) {
  const json::Value* member = member_of(object, key);
  return member != nullptr && member->IsObject() ? member : nullptr;
}

Told told_by(const json::Value& record) {
  const json::Value* payload = json::member(record, "payload");
  if (json::is_string(json::member(record, "type"), "token_usage_record")) {
    const auto response = payload == nullptr ? std::nullopt : json::string_member(*payload, "response_id");
    const auto thread = payload == nullptr ? std::nullopt : json::string_member(*payload, "thread_id");
    return {object_in(payload, "usage"), nullptr, std::string(response.value_or("")), std::string(thread.value_or(""))};
  }
  if (!json::is_string(member_of(payload, "type"), "token_count")) {
    return {};
  }
  const json::Value* info = member_of(payload, "info");
  return {object_in(info, "last_token_usage"), object_in(info, "total_token_usage"), "", ""};
}

Message text_message(std::string text) {
  return text.empty() ? Message() : Message{{MessagePart::Kind::text, std::move(text), "", nullptr}};
}

Usage usage_in(const json::Value& object) {
  Usage usage = untold_usage();
  const double cached = json::number_member(object, "cached_input_tokens").value_or(0);
  if (const auto input = json::number_member(object, "input_tokens")) {
    usage.input = *input - cached;
  }
  usage.cache_read = cached;
  usage.cache_write = json::number_member(object, "cache_write_input_tokens").value_or(usage.cache_write);
  usage.output = json::number_member(object, "output_tokens").value_or(usage.output);
  usage.reasoning = json::number_member(object, "reasoning_output_tokens").value_or(usage.reasoning);
  usage.total_tokens = json::number_member(object, "total_tokens").value_or(usage.total_tokens);
  return usage;
}

/// One line: `1205 tokens in (100 cached), 40 out (10 reasoning)`.
std::string usage_text(const json::Value& usage) {
  const auto count = [&usage](std::string_view key) {
    return json::number_text(json::number_member(usage, key).value_or(0));
  };
  return count("input_tokens") + " tokens in (" + count("cached_input_tokens") + " cached), " + count("output_tokens") +
         " out (" + count("reasoning_output_tokens") + " reasoning)";
}

// Translates records into turns of a conversation (codex/FORMAT.md E).

using Part = TurnPart::Kind;

/// The output of a tool: text, items, or an object with either (codex/FORMAT.md E2).
TurnPart result_of(const json::Value& payload) {
  TurnPart result{Part::tool_result, "", json::text_member(payload, "call_id")};
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
        result.text.append(result.text.empty() ? "" : "\n").append(json::text_member(item, "text"));
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
  std::string text = json::text_member(payload, key);
  json::Document parsed;
  return json::parse(text, parsed) ? text : json::stringify_string(text);
}

std::string own_tool_of(std::string_view type) {
  return std::string(type.substr(0, type.size() - std::string_view("_call").size()));
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

bool Renderer::is_in_transcript(std::string_view name) const {
  return name != "developer" && name != "harness" && name != "token_usage_record" && name != "token_count" &&
         name != "ghost_snapshot" && name != "additional_tools" && name != "configuration_update" &&
         name != "inherited_usage";
}

std::optional<Message> Renderer::message_of(EntryType type, const json::Value& record) const {
  if (const json::Value* item = item_of(record)) {
    return message_of_item(*item);
  }
  const json::Value* payload = json::member(record, "payload");
  if (payload == nullptr || !payload->IsObject()) {
    return std::nullopt;
  }
  if (type == EntryType::compaction) {
    return text_message(json::text_member(*payload, "message"));
  }
  if (const json::Value* usage = told_by(record).shown()) {
    return text_message(usage_text(*usage));
  }
  const bool is_event = json::is_string(json::member(record, "type"), "event_msg");
  return is_event ? message_of_event(*payload) : message_of_item(*payload);
}

std::optional<RecordUsage> Renderer::usage_of(EntryType type, const json::Value& record) const {
  const Told told = told_by(record);
  if (told.shown() == nullptr) {
    return std::nullopt;
  }
  RecordUsage found;
  found.is_inherited = type == EntryType::inherited_usage;
  found.usage = told.usage == nullptr ? found.usage : usage_in(*told.usage);
  if (told.sums != nullptr) {
    found.sums = usage_in(*told.sums);
    found.request = sums_text(json::stringify(*told.sums));
    found.request_anywhere = json::text_member(record, "timestamp") + '\n' + found.request;
    return found;
  }
  found.request = told.response;
  if (!told.thread.empty() && !told.response.empty()) {
    found.request_anywhere = told.thread + '\n' + told.response;
  }
  return found;
}

Result<std::shared_ptr<const Content>> Renderer::context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                         std::shared_ptr<const BlobSource> /*blobs*/) const {
  return build_context(path, std::move(log));
}

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
    turn.parts.push_back(result_of(*payload));
  } else if (type.ends_with("_call")) {
    turn.speaker = Turn::Speaker::assistant;
    const bool has_arguments = type == "function_call" || type == "custom_tool_call";
    const json::Value* action = json::member(*payload, "action");
    std::string arguments = has_arguments ? arguments_in(*payload, type == "function_call" ? "arguments" : "input")
                                          : (action == nullptr ? "{}" : json::stringify(*action));
    turn.add_call(json::text_member(*payload, "call_id"),
                  has_arguments ? json::text_member(*payload, "name") : own_tool_of(type), std::move(arguments));
  } else {
    const bool is_assistant = type == "reasoning" || json::is_string(json::member(*payload, "role"), "assistant");
    turn.speaker = is_assistant ? Turn::Speaker::assistant : Turn::Speaker::user;
    turn.is_note = !is_assistant && entry.name != "user";
    turn.add(*message);
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

const RecordRenderer& renderer() {
  static const Renderer renderer;
  return renderer;
}

}  // namespace arborfs::codex
