#include "core/formats/claude/new_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/clock.h"
#include "core/entry/text.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/js_text.h"
#include "core/json/json_cursor.h"
#include "core/write/new_file.h"

namespace arborfs::claude {
namespace {

constexpr std::size_t kLongestPrompt = 200;  // of a pin, in characters
constexpr std::string_view kNoThinking =
    "thinking must be signed by the service whose model thought it, so it cannot be written; leave it out, or write it "
    "as text";

bool is_text_block(const json::Value& block) {
  const auto text = json::string_member(block, "text");
  return json::is_string(json::member(block, "type"), "text") && text && !is_blank(*text);
}

bool is_image_block(const json::Value& block) {
  constexpr std::array kTypes = {"image/png", "image/jpeg", "image/gif", "image/webp"};
  const json::Value* const source = json::member(block, "source");
  if (!json::is_string(json::member(block, "type"), "image") || source == nullptr ||
      !json::is_string(json::member(*source, "type"), "base64") || json::text_member(*source, "data").empty()) {
    return false;
  }
  const std::string type = json::text_member(*source, "media_type");
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

bool is_result_block(const json::Value& block) {
  if (!json::is_string(json::member(block, "type"), "tool_result") || json::text_member(block, "tool_use_id").empty()) {
    return false;
  }
  const json::Value* const content = json::member(block, "content");
  const auto is_part = [](const json::Value& part) { return is_text_block(part) || is_image_block(part); };
  return content == nullptr || content->IsString() ||
         (content->IsArray() && std::all_of(content->Begin(), content->End(), is_part));
}

bool is_call_block(const json::Value& block) {
  const json::Value* const input = json::member(block, "input");
  return json::is_string(json::member(block, "type"), "tool_use") && !json::text_member(block, "id").empty() &&
         !json::text_member(block, "name").empty() && input != nullptr && input->IsObject();
}

bool is_thinking_block(const json::Value& block) {
  const json::Value* const type = json::member(block, "type");
  return json::is_string(type, "thinking") || json::is_string(type, "redacted_thinking");
}

/// Why models would refuse the content; "" if they take it.
std::string_view problem_of(const json::Value& content, NewRow::Kind kind) {
  if (content.IsString()) {
    return is_blank(json::as_string(content)) ? "content is blank" : "";
  }
  if (!content.IsArray() || content.Empty()) {
    return "content must be a text or a list of blocks";
  }
  if (std::any_of(content.Begin(), content.End(), is_thinking_block)) {
    return kNoThinking;
  }
  const bool is_user = kind == NewRow::Kind::user;
  const auto fits = [is_user](const json::Value& block) {
    return is_text_block(block) || (is_user ? is_image_block(block) || is_result_block(block) : is_call_block(block));
  };
  if (!std::all_of(content.Begin(), content.End(), fits)) {
    return is_user ? "a block of a user is a text that is not blank, an image in base64 (png, jpeg, gif or webp), or a "
                     "tool_result with tool_use_id"
                   : "a block of an assistant is a text that is not blank, or a tool_use with id, name and input";
  }
  return "";
}

/// What a person typed: the text alone, or the first block that is one.
std::string prompt_in(const json::Value& content) {
  if (content.IsString()) {
    return std::string(json::as_string(content));
  }
  const auto first = std::find_if(content.Begin(), content.End(), is_text_block);
  return first == content.End() ? "" : json::text_member(*first, "text");
}

Result<NewRow> new_row(NewRow::Kind kind, std::string said, std::string prompt) {
  ASSIGN_OR_RETURN(auto uuid, new_uuid());
  return NewRow{kind, std::move(uuid), now_ms(), std::move(said), std::move(prompt)};
}

Result<NewRow> user_row(const json::Value& content) {
  return new_row(NewRow::Kind::user, R"({"role":"user","content":)" + json::stringify(content) + "}",
                 prompt_in(content));
}

Result<NewRow> assistant_row(const json::Value& content, std::string model) {
  ASSIGN_OR_RETURN(auto id, new_reply_id());
  ReplyParts reply{std::move(id), std::move(model), "", false};
  if (content.IsString()) {
    reply.blocks = R"({"type":"text","text":)" + json::stringify(content) + "}";
  } else {
    const std::string list = json::stringify(content);
    reply.blocks = list.substr(1, list.size() - 2);
    reply.calls = std::any_of(content.Begin(), content.End(), is_call_block);
  }
  return new_row(NewRow::Kind::assistant, reply_message(reply), "");
}

/// The members that an object of a command may have; null for those that it lacks.
struct Given {
  const json::Value* role = nullptr;
  const json::Value* content = nullptr;
  const json::Value* model = nullptr;
  const json::Value* note = nullptr;

  [[nodiscard]] bool take(std::string_view key, const json::Value& value) {
    const json::Value** const place = key == "role"      ? &role
                                      : key == "content" ? &content
                                      : key == "model"   ? &model
                                      : key == "note"    ? &note
                                                         : nullptr;
    if (place != nullptr) {
      *place = &value;
    }
    return place != nullptr;
  }
};

Result<NewRow> row_of(const Given& given, std::size_t number) {
  if (given.note != nullptr) {
    const bool is_alone = given.role == nullptr && given.content == nullptr && given.model == nullptr;
    if (!is_alone || !given.note->IsString() || is_blank(json::as_string(*given.note))) {
      return refused_object(number, "a note is a text that is not blank, without other members");
    }
    return new_row(NewRow::Kind::note, std::string(json::as_string(*given.note)), "");
  }
  const bool is_user = json::is_string(given.role, "user");
  if (!is_user && !json::is_string(given.role, "assistant")) {
    return refused_object(number, "role must be user or assistant");
  }
  if (given.model != nullptr && (is_user || !given.model->IsString())) {
    return refused_object(number, "model is a text, and only of an assistant");
  }
  const auto kind = is_user ? NewRow::Kind::user : NewRow::Kind::assistant;
  const std::string_view problem = given.content == nullptr ? "content is missing" : problem_of(*given.content, kind);
  if (!problem.empty()) {
    return refused_object(number, problem);
  }
  return is_user ? user_row(*given.content)
                 : assistant_row(*given.content,
                                 given.model == nullptr ? "unknown" : std::string(json::as_string(*given.model)));
}

Result<void> take_object(const json::Value& object, NewRows& rows) {
  const std::size_t number = rows.rows.size() + 1;
  Given given;
  for (const auto& member : json::members(object)) {
    const std::string_view key = json::as_string(member.name);
    if (!rows.take(key, member.value) && !given.take(key, member.value)) {
      return refused_object(number, "it has a member that messages do not have, or that arborfs sets");
    }
  }
  ASSIGN_OR_RETURN(auto row, row_of(given, number));
  rows.rows.push_back(std::move(row));
  return {};
}

Result<void> take_text(std::string_view text, NewRows& rows) {
  ASSIGN_OR_RETURN(const auto words, message_text(text));
  if (is_blank(words)) {
    return Error{Errc::invalid_argument, "the message is blank"};
  }
  ASSIGN_OR_RETURN(auto row,
                   new_row(NewRow::Kind::user, R"({"role":"user","content":)" + json::stringify_string(words) + "}",
                           std::string(words)));
  rows.rows.push_back(std::move(row));
  return {};
}

/// True if there is anything but results of tools.
bool has_words(std::string_view content) {
  bool has_other = content.starts_with('"');
  for (skim::Cursor blocks(content); blocks.next();) {
    has_other = has_other || !skim::is_string(skim::member(blocks.value(), "type"), "tool_result");
  }
  return has_other;
}

}  // namespace

RowFrame frame_of(const Header& header, std::string_view session) {
  RowFrame frame{std::string(session), header.cwd};
  const auto take = [&](std::string_view key, std::string& into) {
    std::string found = skim::text_member(header.json, key);
    into = found.empty() ? std::move(into) : std::move(found);
  };
  take("userType", frame.user_type);
  take("entrypoint", frame.entrypoint);
  take("version", frame.version);
  take("gitBranch", frame.git_branch);
  return frame;
}

std::string row_line(const RowFrame& frame, const NewRow& row, std::string_view parent) {
  const bool is_note = row.kind == NewRow::Kind::note;
  json::Text line = json::Text::object();
  line.add_json("parentUuid", parent.empty() ? "null" : json::stringify_string(parent))
      .add("isSidechain", false)
      .add("type", is_note                          ? "attachment"
                   : row.kind == NewRow::Kind::user ? "user"
                                                    : "assistant");
  if (is_note) {
    line.add_json("attachment", json::Text::object().add("type", "note").add("text", row.said).str())
        .add_json("rendered",
                  "[" +
                      json::Text::object().add("content", "<system-reminder>" + row.said + "</system-reminder>").str() +
                      "]")
        .add("renderedRole", "user");
  } else {
    line.add_json("message", row.said);
  }
  line.add("uuid", row.uuid)
      .add("timestamp", json::iso_time(row.time_ms))
      .add("userType", frame.user_type)
      .add("entrypoint", frame.entrypoint)
      .add("cwd", frame.cwd)
      .add("sessionId", frame.session);
  for (const auto& [key, value] :
       {std::pair<std::string_view, const std::string&>("version", frame.version), {"gitBranch", frame.git_branch}}) {
    if (!value.empty()) {
      line.add(key, value);
    }
  }
  return line.str() + "\n";
}

std::string pin_line(const Pin& pin, std::string_view session) {
  json::Text line = json::Text::object();
  line.add("type", "last-prompt").add_json("leafUuid", pin.leaf.empty() ? "null" : json::stringify_string(pin.leaf));
  if (!pin.prompt.empty()) {
    line.add("lastPrompt", visible_line(pin.prompt, kLongestPrompt));
  }
  if (pin.is_explicit) {
    line.add("explicit", true);
  }
  return line.add("sessionId", session).str() + "\n";
}

std::string title_line(std::string_view title, std::string_view session) {
  return json::Text::object().add("type", "custom-title").add("customTitle", title).add("sessionId", session).str() +
         "\n";
}

std::string relocated_line(std::string_view cwd, std::string_view session) {
  return json::Text::object().add("type", "relocated").add("relocatedCwd", cwd).add("sessionId", session).str() + "\n";
}

std::string reply_message(const ReplyParts& reply) {
  constexpr std::string_view kNoUsage =
      R"({"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0})";
  return json::Text::object()
      .add("id", reply.id)
      .add("type", "message")
      .add("role", "assistant")
      .add("model", reply.model.empty() ? "unknown" : reply.model)
      .add_json("content", "[" + reply.blocks + "]")
      .add("stop_reason", reply.calls ? "tool_use" : "end_turn")
      .add_json("stop_sequence", "null")
      .add_json("usage", kNoUsage)
      .str();
}

Result<std::string> new_reply_id() {
  ASSIGN_OR_RETURN(auto uuid, new_uuid());
  std::erase(uuid, '-');
  return "msg_" + uuid;
}

bool OpenCalls::take(std::string_view content) {
  bool fits = true;
  for (skim::Cursor blocks(content); blocks.next();) {
    const std::string_view type = skim::member(blocks.value(), "type");
    if (skim::is_string(type, "tool_use")) {
      ids_.insert(skim::text_member(blocks.value(), "id"));
    } else if (skim::is_string(type, "tool_result")) {
      fits = ids_.erase(skim::text_member(blocks.value(), "tool_use_id")) != 0 && fits;
    }
  }
  return fits;
}

Result<NewRows> new_rows(const AppendText& text) {
  NewRows rows;
  RETURN_IF_ERROR(check_append_text(text));
  RETURN_IF_ERROR(text.is_json
                      ? each_object(text.text, [&](const json::Value& object) { return take_object(object, rows); })
                      : take_text(text.text, rows));
  return rows;
}

Result<void> check_pairs(OpenCalls open, const std::vector<NewRow>& rows) {
  bool is_same_reply = false;  // the row before is the assistant's too
  for (const NewRow& row : rows) {
    const bool is_assistant = row.kind == NewRow::Kind::assistant;
    const std::string_view content = row.kind == NewRow::Kind::note ? "" : skim::member(row.said, "content");
    const bool was_open = !open.empty();
    const bool fits = open.take(content);
    if (!fits) {
      return {Errc::invalid_argument, "a tool_result has no call before it, and models refuse it"};
    }
    if (is_assistant ? was_open && !is_same_reply : !open.empty() && (has_words(content) || content.empty())) {
      return {Errc::invalid_argument,
              "a tool call before it has no result yet, which models refuse; append the tool_result first, go back to "
              "an earlier entry, or force it"};
    }
    is_same_reply = is_assistant;
  }
  return {};
}

}  // namespace arborfs::claude
