#include "core/formats/codex/new_records.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/words.h"
#include "core/formats/codex/record.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"
#include "core/log/line_reader.h"
#include "core/write/new_file.h"

namespace arborfs::codex {
namespace {

using PartKind = TurnPart::Kind;
using Speaker = Turn::Speaker;

constexpr std::uint64_t kFirstWindow = 64 << 10;

std::string url_of(const TurnImage& image) {
  return image.base64.empty() ? image.url : "data:" + image.media_type + ";base64," + image.base64;
}

json::Text typed(std::string_view type) {
  json::Text object = json::Text::object();
  object.add("type", type);
  return object;
}

std::string text_item(std::string_view type, std::string_view text) {
  return typed(type).add("text", text).str();
}

std::string image_item(std::string_view type, const TurnImage& image) {
  return typed(type).add("image_url", url_of(image)).str();
}

std::string message_item(std::string_view role, const std::string& content) {
  return typed("message").add("role", role).add_json("content", content).str();
}

/// The texts and images of a turn as content of an item, or of an event about it.
std::string content_of(const Turn& turn, std::string_view text_type, std::string_view image_type) {
  json::Text content = json::Text::array();
  for (const TurnPart& part : turn.parts) {
    content.item_json(part.kind == PartKind::image ? image_item(image_type, part.images.front())
                                                   : text_item(text_type, part.text));
  }
  return content.str();
}

/// The texts and images of a message of the user as content of the event about it.
std::string said_in(std::string_view content) {
  json::Text said = json::Text::array();
  for (skim::Cursor parts(content); parts.next();) {
    if (const auto text = skim::string_value(skim::member(parts.value(), "text"))) {
      said.item_json(text_item("text", *text));
    } else if (const auto url = skim::string_value(skim::member(parts.value(), "image_url"))) {
      said.item_json(typed("image").add("image_url", *url).str());
    }
  }
  return said.str();
}

/// Reads the messages, calls and outputs of a command.
class ItemReader {
 public:
  explicit ItemReader(NewTurns& turns) : turns_(turns) {}

  Result<void> take(const json::Value& object) {
    ++number_;
    if (!turns_.queued.empty() || json::member(object, "queue") != nullptr) {
      return take_queued(object);
    }
    const auto type = json::string_member(object, "type").value_or("message");
    if (type == "function_call") {
      return take_call(object);
    }
    if (type == "function_call_output") {
      return take_output(object);
    }
    return type == "message" ? take_message(object)
                             : refuse("type must be message, function_call or function_call_output");
  }

  Result<void> finish() const {
    return open_.empty() ? Result<void>() : refuse("a call has no output after it, which models refuse");
  }

 private:
  [[nodiscard]] Error refuse(std::string_view why) const { return refused_object(number_, why); }

  /// Codex skips a record with half of a surrogate pair.
  static std::string text_of(const json::Value& object, std::string_view key) {
    return json::replace_lone_surrogates(json::text_member(object, key));
  }

  /// Errors: invalid_argument for a member that is neither known nor an option.
  Result<void> check_members(const json::Value& object, std::initializer_list<std::string_view> known) {
    for (const auto& member : json::members(object)) {
      const std::string_view key = json::as_string(member.name);
      const bool is_known = key == "type" || std::find(known.begin(), known.end(), key) != known.end();
      if (!is_known && !turns_.take(key, member.value)) {
        return refuse("it has a member that arborfs does not write: " + std::string(key));
      }
    }
    return {};
  }

  Turn& turn_of(Speaker speaker) {
    if (turns_.turns.empty() || turns_.turns.back().speaker != speaker || speaker == Speaker::user) {
      turns_.turns.emplace_back();
      turns_.turns.back().speaker = speaker;
      turns_.turns.back().time_ms = now_ms();
    }
    return turns_.turns.back();
  }

  Result<void> take_queued(const json::Value& object) {
    const std::string text = text_of(object, "queue");
    if (number_ > 1 || object.MemberCount() > 1) {
      return refuse("a message for Codex's queue goes alone, as {\"queue\":\"text\"}");
    }
    if (text.empty()) {
      return refuse("\"queue\" needs a text that is not empty");
    }
    turns_.queued = text;
    return {};
  }

  Result<void> take_message(const json::Value& object) {
    const auto role = json::string_member(object, "role").value_or("");
    if (role != "user" && role != "assistant") {
      return refuse("role must be user or assistant");
    }
    if (role == "assistant" && turns_.turns.empty()) {
      return refuse("the first message must be the user's, because Codex keeps what is said in turns");
    }
    if (!open_.empty()) {
      return refuse("the calls before it must have their outputs first");
    }
    RETURN_IF_ERROR(check_members(object, {"role", "content"}));
    const json::Value* content = json::member(object, "content");
    Turn& turn = turn_of(role == "user" ? Speaker::user : Speaker::assistant);
    if (content != nullptr && content->IsString()) {
      turn.add(PartKind::text, text_of(object, "content"));
    } else if (content == nullptr || !content->IsArray() || !take_content(*content, role == "user", turn)) {
      return refuse("content must be a text, or a list of texts and, of the user, images (data: URLs)");
    }
    return turn.parts.empty() ? Result<void>(refuse("the message is empty")) : Result<void>();
  }

  /// False for a part that is neither a text nor an image.
  static bool take_content(const json::Value& content, bool is_user, Turn& turn) {
    for (const json::Value& part : content.GetArray()) {
      const auto type = json::string_member(part, "type").value_or("");
      const auto url = json::string_member(part, "image_url");
      if (json::string_member(part, "text") && type.ends_with("text")) {
        turn.add(PartKind::text, text_of(part, "text"));
      } else if (is_user && type == "input_image" && url && url->starts_with("data:image/")) {
        turn.add_image(image_of_url(*url));
      } else {
        return false;
      }
    }
    return true;
  }

  Result<void> take_call(const json::Value& object) {
    RETURN_IF_ERROR(check_members(object, {"name", "arguments", "call_id"}));
    const std::string id = text_of(object, "call_id");
    const std::string name = text_of(object, "name");
    const std::string arguments = text_of(object, "arguments");
    if (turns_.turns.empty()) {
      return refuse("the first message must be the user's, because Codex keeps what is said in turns");
    }
    if (name.empty() || id.empty() || !ids_.insert(id).second || !is_object(arguments)) {
      return refuse("a call needs a name, a call_id of its own, and arguments: the text of one JSON object");
    }
    turn_of(Speaker::assistant).add_call(id, name, arguments);
    open_.insert(id);
    return {};
  }

  Result<void> take_output(const json::Value& object) {
    RETURN_IF_ERROR(check_members(object, {"output", "call_id"}));
    const std::string id = text_of(object, "call_id");
    if (!json::string_member(object, "output") || open_.erase(id) == 0) {
      return refuse("an output needs the call_id of a call before it, and output, a text");
    }
    turn_of(Speaker::tool).parts.push_back({PartKind::tool_result, text_of(object, "output"), id});
    return {};
  }

  NewTurns& turns_;
  std::size_t number_ = 0;
  std::set<std::string> ids_;
  std::set<std::string> open_;  // calls without output
};

/// The highest ordinal of the lines that begin in `bytes`; nothing if none has one. A first line that may have begun
/// earlier does not count.
std::optional<std::uint64_t> highest_ordinal(std::string_view bytes, bool is_whole) {
  if (!is_whole) {
    take_line(bytes);
  }
  std::optional<std::uint64_t> highest;
  while (!bytes.empty()) {
    const std::string_view line = stripped(take_line(bytes));
    const auto ordinal = is_object(line) ? count_of(skim::member(line, "ordinal")) : std::nullopt;
    highest = std::max(highest, ordinal);
  }
  return highest;
}

Result<std::uint64_t> next_ordinal(const LogSource& segment) {
  ASSIGN_OR_RETURN(const auto size, segment.size());
  for (std::uint64_t window = std::min(kFirstWindow, size);; window = std::min(2 * window, size)) {
    ASSIGN_OR_RETURN(const auto bytes, segment.read(size - window, window));
    if (const auto last = highest_ordinal(bytes, window == size)) {
      return *last + 1;
    }
    if (window == size) {
      return Error{Errc::corrupt, "no record of the thread's newest file has an ordinal, so Codex cannot open it"};
    }
  }
}

/// Blank lines do not count (codex/FORMAT.md B4).
Result<std::uint64_t> next_line(const LogSource& segment) {
  ASSIGN_OR_RETURN(const auto size, segment.size());
  LineReader lines(segment, size, {});
  for (std::uint64_t next = 1;; ++next) {
    ASSIGN_OR_RETURN(const auto* line, lines.next());
    if (line == nullptr) {
      return next;
    }
  }
}

}  // namespace

Result<NewTurns> new_turns(const AppendText& text) {
  NewTurns turns;
  RETURN_IF_ERROR(check_append_text(text));
  if (text.is_json) {
    ItemReader items(turns);
    RETURN_IF_ERROR(each_object(text.text, [&](const json::Value& object) { return items.take(object); }));
    RETURN_IF_ERROR(items.finish());
    return turns;
  }
  ASSIGN_OR_RETURN(const auto words, message_text(text.text));
  turns.turns.emplace_back();
  turns.turns.back().time_ms = now_ms();
  turns.turns.back().add(PartKind::text, std::string(words));
  return turns;
}

Result<SegmentEnd> read_end(const LogSource& segment, std::string id, bool is_paginated) {
  ASSIGN_OR_RETURN(const auto next, is_paginated ? next_ordinal(segment) : next_line(segment));
  return SegmentEnd{std::move(id), is_paginated, next};
}

Result<void> NewRecords::add_record(std::string_view type, std::string_view payload, std::int64_t time_ms) {
  json::Text record = json::Text::object();
  record.add("timestamp", json::iso_time(time_ms));
  if (end_.is_paginated) {
    record.add("ordinal", end_.next);
  }
  const std::string line = record.add("type", type).add_json("payload", payload).str();
  if (line.size() > LineReader::kLongestLine) {
    return Error{Errc::too_large, "a message may have at most 64 MiB as a record of Codex"};
  }
  lines_.append(line).append("\n");
  ++end_.next;
  return {};
}

void NewRecords::join(const NewRecords& more) {
  lines_ += more.lines_;
  end_ = more.end_;
  last_id_ = more.last_id_;
}

Result<void> NewRecords::add_item(std::string_view payload, std::int64_t time_ms) {
  last_id_ = end_.segment + ":" + std::to_string(end_.next);
  return add_record("response_item", payload, time_ms);
}

Result<void> NewRecords::add_event(std::string_view payload, std::int64_t time_ms) {
  return add_record("event_msg", payload, time_ms);
}

Result<void> NewRecords::add_completed(const std::string& item, std::int64_t time_ms) {
  return add_event(typed("item_completed")
                       .add("thread_id", thread_)
                       .add("turn_id", turn_)
                       .add_json("item", item)
                       .add("completed_at_ms", static_cast<std::uint64_t>(time_ms))
                       .str(),
                   time_ms);
}

Result<void> NewRecords::add(const Turn& turn, AsText& counts) {
  last_ms_ = turn.time_ms;
  return turn.speaker == Speaker::user        ? add_prompt(turn)
         : turn.speaker == Speaker::assistant ? add_reply(turn, counts)
                                              : add_results(turn, counts);
}

/// A turn of Codex begins.
Result<void> NewRecords::add_prompt(const Turn& turn) {
  RETURN_IF_ERROR(finish());
  last_ms_ = began_ms_ = turn.time_ms;
  const std::string item = message_item("user", content_of(turn, "input_text", "input_image"));
  if (!end_.is_paginated) {
    RETURN_IF_ERROR(add_item(item, turn.time_ms));
    std::string text;
    for (const TurnPart& part : turn.parts) {
      text += (text.empty() || part.text.empty() ? "" : "\n") + part.text;
    }
    return add_event(typed("user_message").add("message", text).str(), turn.time_ms);
  }
  return begin_turn(item, content_of(turn, "text", "image"), turn.time_ms);
}

/// `said`: the content of the event.
Result<void> NewRecords::begin_turn(std::string_view item, const std::string& said, std::int64_t time_ms) {
  ASSIGN_OR_RETURN(turn_, new_uuid_of_time(time_ms));
  ASSIGN_OR_RETURN(const auto id, new_uuid_of_time(time_ms));
  RETURN_IF_ERROR(add_event(typed("task_started")
                                .add("turn_id", turn_)
                                .add("started_at", static_cast<std::uint64_t>(time_ms / 1000))
                                .add_json("model_context_window", "null")
                                .str(),
                            time_ms));
  RETURN_IF_ERROR(add_item(item, time_ms));
  return add_completed(typed("UserMessage").add("id", id).add_json("content", said).str(), time_ms);
}

Result<void> NewRecords::add_own(std::string_view item, std::int64_t time_ms) {
  const bool is_message = skim::is_string(skim::member(item, "type"), "message");
  const std::string_view content = skim::member(item, "content");
  if (is_message && skim::is_string(skim::member(item, "role"), "user")) {
    RETURN_IF_ERROR(finish());
    last_ms_ = began_ms_ = time_ms;
    return begin_turn(item, said_in(content), time_ms);
  }
  if (turn_.empty()) {
    return Error{Errc::invalid_argument, "the first message is not the user's"};
  }
  last_ms_ = time_ms;
  if (is_message) {
    return add_answer(text_in(content), item, time_ms);
  }
  answer_.reset();
  return add_item(item, time_ms);
}

Result<void> NewRecords::add_reply(const Turn& turn, AsText& counts) {
  for (const TurnPart& part : turn.parts) {
    if (part.kind == PartKind::tool_call) {
      answer_.reset();
      RETURN_IF_ERROR(add_item(
          typed("function_call").add("name", part.tool).add("arguments", part.text).add("call_id", part.call_id).str(),
          turn.time_ms));
    } else {
      const std::string text = part.kind == PartKind::reasoning ? reasoning_as_text(part.text, counts)
                               : part.kind == PartKind::image   ? image_as_text(part.images.front(), counts)
                                                                : part.text;
      const std::string content = json::Text::array().item_json(text_item("output_text", text)).str();
      RETURN_IF_ERROR(add_answer(text, message_item("assistant", content), turn.time_ms));
    }
  }
  return {};
}

/// The event precedes the item (G3).
Result<void> NewRecords::add_answer(const std::string& text, std::string_view item, std::int64_t time_ms) {
  answer_ = text;
  if (end_.is_paginated) {
    ASSIGN_OR_RETURN(const auto id, new_uuid_of_time(time_ms));
    RETURN_IF_ERROR(add_completed(typed("AgentMessage")
                                      .add("id", id)
                                      .add_json("content", json::Text::array().item_json(text_item("Text", text)).str())
                                      .str(),
                                  time_ms));
  } else {
    RETURN_IF_ERROR(add_event(typed("agent_message").add("message", text).str(), time_ms));
  }
  return add_item(item, time_ms);
}

Result<void> NewRecords::add_results(const Turn& turn, AsText& counts) {
  answer_.reset();
  for (const TurnPart& result : turn.parts) {
    const std::string text = result.is_error ? failure_as_text(result.text, counts) : result.text;
    json::Text output = typed("function_call_output");
    output.add("call_id", result.call_id);
    if (result.images.empty()) {
      output.add("output", text);
    } else {
      json::Text items = json::Text::array();
      if (!text.empty()) {
        items.item_json(text_item("input_text", text));
      }
      for (const TurnImage& image : result.images) {
        items.item_json(image_item("input_image", image));
      }
      output.add_json("output", items.str());
    }
    RETURN_IF_ERROR(add_item(output.str(), turn.time_ms));
  }
  return {};
}

Result<void> NewRecords::finish() {
  const auto answer = std::exchange(answer_, std::nullopt);
  const std::string turn = std::exchange(turn_, "");
  if (!answer || turn.empty()) {
    return {};
  }
  const auto seconds = [](std::int64_t ms) { return static_cast<std::uint64_t>(ms / 1000); };
  return add_event(typed("task_complete")
                       .add("turn_id", turn)
                       .add("last_agent_message", *answer)
                       .add("started_at", seconds(began_ms_))
                       .add("completed_at", seconds(last_ms_))
                       .add("duration_ms", static_cast<std::uint64_t>(std::max<std::int64_t>(0, last_ms_ - began_ms_)))
                       .str(),
                   last_ms_);
}

}  // namespace arborfs::codex
