#include "core/formats/opencode/renderer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/entry/content.h"
#include "core/entry/context_path.h"
#include "core/entry/text.h"
#include "core/formats/opencode/reader.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"

namespace arborfs::opencode {
namespace {

/// A message that the model receives, read and changed on demand.
struct SentMessage {
  std::shared_ptr<const LogSource> log;
  std::size_t step = 0;  // of the path
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::string end_part;  // sent_message()

  /// In the shape of an entry; "" if nothing of it is sent. Errors: stale, io.
  [[nodiscard]] Result<std::string> text() const;
};

// One message as OpenCode sends it to the model: without the parts that are not sent, and with the texts that replace
// others (opencode/FORMAT.md E3, E4).

constexpr std::string_view kCleared = "[Old tool result content cleared]";
constexpr std::string_view kInterrupted = "[Tool execution was interrupted]";
constexpr std::string_view kAskForSummary = R"({"type":"text","text":"What did we do so far?"})";
constexpr std::string_view kSubtask = R"({"type":"text","text":"The following tool was executed by the user"})";

bool is_type(std::string_view part, std::string_view type) {
  return skim::is_string(skim::member(part, "type"), type);
}

/// "" if the part is not sent.
std::string sent_of_user(std::string_view part) {
  if (is_type(part, "text")) {
    return skim::member(part, "ignored") == "true" ? "" : std::string(part);
  }
  if (is_type(part, "file")) {
    const std::string_view mime = skim::member(part, "mime");
    const bool is_inlined = skim::is_string(mime, "text/plain") || skim::is_string(mime, "application/x-directory");
    return is_inlined ? "" : std::string(part);
  }
  return std::string(is_type(part, "compaction") ? kAskForSummary : is_type(part, "subtask") ? kSubtask : "");
}

/// Changes the state of a call to the one that the model receives; false if that is the same.
bool change_state(json::Value& state, json::Document& owner) {
  const auto status = json::string_member(state, "status");
  const auto put = [&](std::string_view key, std::string_view text) {
    json::set(state, key, json::make_string(text, owner), owner);
  };
  const json::Value* time = json::member(state, "time");
  const json::Value* metadata = json::member(state, "metadata");
  if (status == "completed" && time != nullptr && json::is_truthy(json::member(*time, "compacted"))) {
    put("output", kCleared);
    json::erase(state, "attachments");
    return true;
  }
  if (status == "pending" || status == "running") {
    put("status", "error");
    put("error", kInterrupted);
    return true;
  }
  if (status == "error" && metadata != nullptr && json::is_truthy(json::member(*metadata, "interrupted"))) {
    if (const auto output = json::string_member(*metadata, "output")) {
      const std::string copy(*output);
      put("status", "completed");
      put("output", copy);
      return true;
    }
  }
  return false;
}

std::string sent_call(std::string_view part) {
  json::Document call;
  if (!json::parse(part, call)) {
    return std::string(part);
  }
  json::Value* state = json::member(static_cast<json::Value&>(call), "state");
  return state != nullptr && state->IsObject() && change_state(*state, call) ? json::stringify(call)
                                                                             : std::string(part);
}

std::string sent_of_assistant(std::string_view part) {
  if (is_type(part, "tool")) {
    return sent_call(part);
  }
  const bool is_sent = is_type(part, "text") || is_type(part, "reasoning") || is_type(part, "step-start");
  return is_sent ? std::string(part) : "";
}

/// The message in the shape of an entry; "" if nothing of it is sent. `entry` is valid JSON. Parts from the one with
/// the id `end_part` on are left out; "" for none.
std::string sent_message(std::string_view entry, std::string_view end_part) {
  const std::string_view info = skim::member(entry, "info");
  const bool is_user = skim::is_string(skim::member(info, "role"), "user");
  std::string parts;
  bool says_anything = false;
  for (skim::Cursor cursor(skim::member(entry, "parts")); cursor.next();) {
    const std::string_view part = cursor.value();
    if (!end_part.empty() && skim::is_string(skim::member(part, "id"), end_part)) {
      break;
    }
    const std::string sent = is_user ? sent_of_user(part) : sent_of_assistant(part);
    if (!sent.empty()) {
      parts.append(parts.empty() ? "" : ",").append(sent);
      says_anything = says_anything || !is_type(part, "step-start");
    }
  }
  return says_anything ? R"({"info":)" + std::string(info) + R"(,"parts":[)" + parts + "]}" : "";
}

/// True for an answer that failed before it had any content.
bool is_failed_answer(std::string_view entry) {
  const std::string_view error = skim::member(skim::member(entry, "info"), "error");
  if (!error.starts_with('{')) {
    return false;
  }
  const bool is_aborted = skim::is_string(skim::member(error, "name"), "MessageAbortedError");
  for (skim::Cursor cursor(skim::member(entry, "parts")); is_aborted && cursor.next();) {
    if (!is_type(cursor.value(), "step-start") && !is_type(cursor.value(), "reasoning")) {
      return false;
    }
  }
  return true;
}

/// The facts about one message that are needed to choose messages.
struct Candidate {
  std::size_t step = 0;
  std::string id;
  std::string answers;            // the user message that an assistant message answers
  std::string tail;               // of a compaction: the first message that is kept with the summary, "" for none
  bool asks_for_summary = false;  // a user message with a compaction
  bool is_summary = false;        // a whole one
};

Candidate candidate_in(std::string_view entry, std::size_t step, Era era) {
  const std::string_view info = skim::member(entry, "info");
  Candidate message;
  message.step = step;
  message.id = skim::text_member(info, "id");
  if (skim::is_string(skim::member(info, "role"), "assistant")) {
    const bool failed = era == Era::database && skim::member(info, "error").starts_with('{');
    message.answers = skim::text_member(info, "parentID");
    message.is_summary =
        skim::member(info, "summary") == "true" && skim::is_truthy(skim::member(info, "finish")) && !failed;
    return message;
  }
  for (skim::Cursor cursor(skim::member(entry, "parts")); cursor.next();) {
    if (skim::is_string(skim::member(cursor.value(), "type"), "compaction")) {
      message.asks_for_summary = true;
      message.tail = era == Era::database ? skim::text_member(cursor.value(), "tail_start_id") : "";
    }
  }
  return message;
}

/// Walks from the newest message to the oldest (opencode/FORMAT.md E1).
class Selection {
 public:
  /// False once all messages that the model receives are known.
  bool take(Candidate message) {
    chosen_.push_front(std::move(message));
    const Candidate& taken = chosen_.front();
    if (!kept_from_.empty()) {
      return taken.id != kept_from_;
    }
    if (taken.asks_for_summary && answered_.contains(taken.id)) {
      kept_from_ = taken.tail;
      return !kept_from_.empty() && taken.id != kept_from_;
    }
    if (taken.is_summary) {
      answered_.insert(taken.answers);
    }
    return true;
  }

  /// The messages in the order in which the model receives them: a summary comes before the messages that are kept with
  /// it.
  [[nodiscard]] std::vector<std::size_t> steps() const {
    std::vector<std::size_t> order;
    for (const Candidate& message : chosen_) {
      order.push_back(message.step);
    }
    const auto at = [&](auto found) { return order.begin() + (found - chosen_.begin()); };
    const auto asked = std::find_if(chosen_.begin(), chosen_.end(), [&](const Candidate& message) {
      return !kept_from_.empty() && message.tail == kept_from_ && answered_.contains(message.id);
    });
    const auto summary = std::find_if(asked, chosen_.end(), [&](const Candidate& message) {
      return message.is_summary && message.answers == asked->id;
    });
    if (summary != chosen_.end() && chosen_.front().id == kept_from_) {
      std::rotate(order.begin(), at(asked), at(summary) + 1);
    }
    return order;
  }

 private:
  std::deque<Candidate> chosen_;
  std::set<std::string> answered_;  // requests for a summary that have one
  std::string kept_from_;           // the first message that is kept with the summary
};

/// The part of the last message at which a pending revert cuts it (opencode/FORMAT.md D3).
std::string end_part_of(const LogSource& log, std::string_view last_id, Era era) {
  const auto revert = era == Era::database ? pending_revert(log.metadata().value_or("")) : std::nullopt;
  return revert && revert->message == last_id ? revert->part : "";
}

Result<std::string> SentMessage::text() const {
  ASSIGN_OR_RETURN(const auto entry, log->read(offset, length));
  return is_failed_answer(entry) ? std::string() : json::as_utf8(sent_message(entry, end_part));
}

/// In the order in which the model receives them. Errors: stale, io.
Result<std::vector<SentMessage>> sent_messages(const ContextPath& path, std::shared_ptr<const LogSource> log, Era era) {
  Selection selection;
  std::string last_id;
  for (std::size_t left = path.steps.size(); left > 0; --left) {
    const ContextPath::Step& step = path.steps[left - 1];
    ASSIGN_OR_RETURN(const auto entry, log->read(step.entry.offset, step.length));
    Candidate message = candidate_in(entry, left - 1, era);
    if (left == path.steps.size()) {
      last_id = message.id;
    }
    if (!selection.take(std::move(message))) {
      break;
    }
  }
  const std::string end_part = end_part_of(*log, last_id, era);
  std::vector<SentMessage> sent;
  for (const std::size_t number : selection.steps()) {
    const ContextPath::Step& step = path.steps[number];
    const bool is_last = number + 1 == path.steps.size();
    sent.push_back({log, number, step.entry.offset, step.length, is_last ? end_part : ""});
  }
  return sent;
}

/// `{"messages":[…]}`, each message in the shape of an entry, with the parts that are sent. Errors: stale, io.
Result<std::shared_ptr<const Content>> replayed_context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                        Era era) {
  ASSIGN_OR_RETURN(const auto messages, sent_messages(path, std::move(log), era));
  auto content = std::make_shared<Content>();
  content->add_text("{\"messages\":[");
  std::string_view before = "\n";
  for (const SentMessage& message : messages) {
    ASSIGN_OR_RETURN(const auto text, message.text());
    if (!text.empty()) {
      content->add_text(before);
      content->add_rendered(text.size(), [message] { return message.text(); });
      before = ",\n";
    }
  }
  content->add_text("\n]}\n");
  return std::shared_ptr<const Content>(std::move(content));
}

void add_words(Message& message, MessagePart::Kind kind, std::string text) {
  if (!text.empty()) {
    message.push_back({kind, std::move(text), "", nullptr});
  }
}

/// A file that a user or a tool attached: an image, or its name.
void add_file(Message& message, const json::Value& part) {
  std::string mime = json::text_member(part, "mime");
  const json::Value* url = json::member(part, "url");
  if (mime.starts_with("image/")) {
    message.push_back({MessagePart::Kind::image, std::move(mime), "", url});
    return;
  }
  std::string name = json::text_member(part, "filename");
  if (name.empty() && url != nullptr && url->IsString() && !json::as_string(*url).starts_with("data:")) {
    name = json::as_string(*url);
  }
  add_words(message, MessagePart::Kind::text, "[file" + (name.empty() ? "" : ": " + name) + "]");
}

void add_call(Message& message, const json::Value& part) {
  const json::Value* state = json::member(part, "state");
  const json::Value* input = state == nullptr ? nullptr : json::member(*state, "input");
  const std::string tool = json::text_member(part, "tool");
  message.push_back({MessagePart::Kind::tool_call, input == nullptr ? "" : json::stringify(*input), tool, nullptr});
  if (state == nullptr) {
    return;
  }
  if (json::is_string(json::member(*state, "status"), "error")) {
    message.push_back({MessagePart::Kind::tool_error, "", tool, nullptr});
    add_words(message, MessagePart::Kind::tool_output, json::text_member(*state, "error"));
  }
  add_words(message, MessagePart::Kind::tool_output, json::text_member(*state, "output"));
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
  std::string words = data == nullptr ? "" : json::text_member(*data, "message");
  message.push_back({MessagePart::Kind::tool_error, "", json::text_member(error, "name"), nullptr});
  add_words(message, MessagePart::Kind::text, std::move(words));
}

/// Steps and snapshots have no readable text.
void add_part(Message& message, const json::Value& part) {
  using Kind = MessagePart::Kind;
  const std::string type = json::text_member(part, "type");
  if (type == "text") {
    add_words(message, Kind::text, json::text_member(part, "text"));
  } else if (type == "reasoning") {
    const std::string text = json::text_member(part, "text");
    add_words(message, Kind::thinking, text.empty() ? json::text_member(part, "reasoning") : text);
  } else if (type == "tool") {
    add_call(message, part);
  } else if (type == "file") {
    add_file(message, part);
  } else if (type == "patch") {
    add_words(message, Kind::text, "[changed " + names_in(json::member(part, "files")) + "]");
  } else if (type == "agent") {
    add_words(message, Kind::text, "[agent " + json::text_member(part, "name") + "]");
  } else if (type == "subtask") {
    add_words(message, Kind::text,
              "[task for " + json::text_member(part, "agent") + "] " + json::text_member(part, "prompt"));
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

using Kind = TurnPart::Kind;

TurnImage image_in(const json::Value& file) {
  return image_of_url(json::string_member(file, "url").value_or(""), json::string_member(file, "mime").value_or(""));
}

bool is_image(const json::Value& file) {
  return json::string_member(file, "mime").value_or("").starts_with("image/");
}

std::string name_of_file(const json::Value& file) {
  std::string name = json::text_member(file, "filename");
  const std::string url = json::text_member(file, "url");
  return "[file: " + (name.empty() && !url.starts_with("data:") ? url : name) + "]";
}

/// The result of a call that has ended.
TurnPart result_in(const json::Value& part, const json::Value& state) {
  TurnPart result{Kind::tool_result, "", json::text_member(part, "callID"), json::text_member(part, "tool")};
  result.is_error = json::is_string(json::member(state, "status"), "error");
  result.text = json::text_member(state, result.is_error ? "error" : "output");
  const json::Value* files = json::member(state, "attachments");
  if (files != nullptr && files->IsArray()) {
    for (const json::Value& file : files->GetArray()) {
      if (is_image(file)) {
        result.images.push_back(image_in(file));
      } else {
        result.text += "\n" + name_of_file(file);
      }
    }
  }
  return result;
}

void add_tool(const json::Value& part, Turn& turn, Turn& results) {
  const json::Value* state = json::member(part, "state");
  const json::Value* input = state == nullptr ? nullptr : json::member(*state, "input");
  turn.add_call(json::text_member(part, "callID"), json::text_member(part, "tool"),
                input == nullptr ? "{}" : json::stringify(*input));
  const auto status = state == nullptr ? "" : json::string_member(*state, "status").value_or("");
  if (status == "completed" || status == "error") {
    results.parts.push_back(result_in(part, *state));
  }
}

/// Steps, snapshots and patches have no content.
void add_part_to(const json::Value& part, Turn& turn, Turn& results) {
  const std::string type = json::text_member(part, "type");
  if (type == "text") {
    turn.add(Kind::text, json::is_truthy(json::member(part, "ignored")) ? "" : json::text_member(part, "text"));
  } else if (type == "reasoning") {
    const std::string text = json::text_member(part, "text");
    turn.add(Kind::reasoning, text.empty() ? json::text_member(part, "reasoning") : text);
  } else if (type == "tool") {
    add_tool(part, turn, results);
  } else if (type == "file" && is_image(part)) {
    turn.add_image(image_in(part));
  } else if (type == "file") {
    turn.add(Kind::text, name_of_file(part));
  } else if (type == "subtask") {
    turn.add(Kind::text, json::text_member(part, "prompt"));
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
  told.model = json::text_member(*info, "modelID");
  return told;
}

Result<std::shared_ptr<const Content>> Renderer::context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                         std::shared_ptr<const BlobSource> /*blobs*/) const {
  return replayed_context(path, std::move(log), era_);
}

Result<void> Renderer::read_turns(const SpokenPath& spoken, const TakeTurns& take) const {
  if (spoken.reach == Reach::path) {
    return RecordRenderer::read_turns(spoken, take);
  }
  ASSIGN_OR_RETURN(const auto messages, sent_messages(spoken.path, spoken.log, era_));
  for (const SentMessage& message : messages) {
    if (message.length > kMaxRenderedEntry) {
      return conversation_too_long();
    }
    ASSIGN_OR_RETURN(const auto text, message.text());
    const ContextPath::Step& step = spoken.path.steps[message.step];
    std::vector<Turn> turns;
    if (!text.empty()) {
      add_turns({step.entry.type, spoken.names[message.step], text, step.entry.timestamp_ms, *spoken.blobs}, turns);
    }
    RETURN_IF_ERROR(take(step.ordinal, std::move(turns)));
  }
  return {};
}

bool Renderer::add_turns_of(const SpokenEntry& entry, const json::Value& record, std::vector<Turn>& turns) const {
  const json::Value* info = json::member(record, "info");
  const json::Value* parts = json::member(record, "parts");
  if (info == nullptr || parts == nullptr || !parts->IsArray()) {
    return false;
  }
  Turn turn;
  Turn results;
  turn.time_ms = results.time_ms = entry.time_ms;
  results.speaker = Turn::Speaker::tool;
  if (json::is_string(json::member(*info, "role"), "assistant")) {
    turn.speaker = Turn::Speaker::assistant;
    turn.provider = json::text_member(*info, "providerID");
    turn.model = json::text_member(*info, "modelID");
    turn.is_note = json::is_truthy(json::member(*info, "summary"));
  }
  for (const json::Value& part : parts->GetArray()) {
    add_part_to(part, turn, results);
  }
  turns.push_back(std::move(turn));
  turns.push_back(std::move(results));
  return true;
}

Saying Renderer::saying(const SpokenEntry& entry) const {
  json::Document record;
  json::Value* parts = nullptr;
  if (entry.raw.find("\"synthetic\"") != std::string_view::npos && json::parse(entry.raw, record)) {
    parts = json::member(record, "parts");
  }
  if (parts == nullptr || !parts->IsArray()) {
    return RecordRenderer::saying(entry);
  }
  for (auto* part = parts->Begin(); part != parts->End();) {
    part = json::is_truthy(json::member(*part, "synthetic")) ? parts->Erase(part) : part + 1;
  }
  const std::string typed = json::stringify(record);
  return RecordRenderer::saying({entry.type, entry.name, typed, entry.time_ms, entry.blobs});
}

TurnEnd Renderer::turn_end(std::string_view raw) const {
  const std::string_view info = skim::member(raw, "info");
  const bool has_ended = !skim::member(skim::member(info, "time"), "completed").empty();
  if (skim::is_truthy(skim::member(info, "error"))) {
    return TurnEnd::over;
  }
  return !has_ended || skim::text_member(info, "finish") == "tool-calls" ? TurnEnd::goes_on : TurnEnd::over;
}

}  // namespace arborfs::opencode
