// Translates what is sent of rows into turns of a conversation (claude/FORMAT.md B3, E2, F).
#include <iterator>
#include <string>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/claude/claude_renderer.h"
#include "core/formats/claude/row.h"
#include "core/formats/claude/sent_pieces.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"

namespace arborfs::claude {
namespace {

using Kind = TurnPart::Kind;

/// The model of answers that the program wrote itself (F2).
constexpr std::string_view kNoModel = "<synthetic>";

std::string text_in(const json::Value& object, std::string_view key) {
  return std::string(json::string_member(object, key).value_or(""));
}

TurnImage image_in(const json::Value& block) {
  const json::Value* source = json::member(block, "source");
  if (source == nullptr) {
    return {};
  }
  const bool has_bytes = json::is_string(json::member(*source, "type"), "base64");
  return {text_in(*source, "media_type"), has_bytes ? text_in(*source, "data") : "", text_in(*source, "url")};
}

/// The output of a tool: a string, or blocks of text and images.
TurnPart result_in(const json::Value& block) {
  TurnPart result{Kind::tool_result, "", text_in(block, "tool_use_id")};
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
    turn.add(Kind::text, text_in(block, "text"));
  } else if (type == "thinking") {
    turn.add(Kind::reasoning, text_in(block, "thinking"));
  } else if (type == "redacted_thinking") {
    turn.add(Kind::reasoning, "(redacted)");
  } else if (type == "tool_use") {
    const json::Value* input = json::member(block, "input");
    turn.add_call(text_in(block, "id"), text_in(block, "name"), input == nullptr ? "{}" : json::stringify(*input));
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
    const auto model = skim::string_value(skim::member(skim::member(row, "message"), "model")).value_or("");
    turn.speaker = Turn::Speaker::assistant;
    turn.provider = "anthropic";
    turn.model = model == kNoModel ? "" : model;
  }
  turn.is_note = is_note(row, content);
  add_content_to(content, turn, results);
  return {std::move(results), std::move(turn)};
}

}  // namespace

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

}  // namespace arborfs::claude
