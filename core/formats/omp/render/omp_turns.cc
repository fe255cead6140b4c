#include "core/formats/omp/render/omp_turns.h"

#include <string>
#include <utility>

#include "core/formats/omp/context/blob_references.h"
#include "core/json/document.h"

namespace arborfs {
namespace {

std::string member_words(const json::Value& object, std::string_view key) {
  return std::string(json::string_member(object, key).value_or(""));
}

/// An image whose blob is missing keeps the reference as the place of its bytes.
TurnImage image_of_block(const json::Value& block, const BlobSource& blobs) {
  std::string data = member_words(block, "data");
  TurnImage image{member_words(block, "mimeType"), "", ""};
  if (!data.starts_with(kBlobPrefix)) {
    image.base64 = std::move(data);
  } else if (auto bytes = blob_as_base64(data, &blobs)) {
    image.base64 = *std::move(bytes);
  } else {
    image.url = std::move(data);
  }
  return image;
}

void add_block(const json::Value& block, const BlobSource& blobs, Turn& turn) {
  const auto type = json::string_member(block, "type").value_or("");
  if (type == "text") {
    turn.add(TurnPart::Kind::text, member_words(block, "text"));
  } else if (type == "thinking") {
    turn.add(TurnPart::Kind::reasoning, member_words(block, "thinking"));
  } else if (type == "redactedThinking") {
    turn.add(TurnPart::Kind::reasoning, "(redacted)");
  } else if (type == "toolCall") {
    const json::Value* arguments = json::member(block, "arguments");
    turn.add_call(member_words(block, "id"), member_words(block, "name"),
                  arguments == nullptr ? "{}" : json::stringify(*arguments));
  } else if (type == "image") {
    turn.add_image(image_of_block(block, blobs));
  } else {
    turn.add(TurnPart::Kind::text, json::stringify(block));
  }
}

/// The blocks of `content` and, for omp 18, those of `images`.
void add_blocks(const json::Value& owner, const BlobSource& blobs, Turn& turn) {
  for (const char* key : {"content", "images"}) {
    const json::Value* content = json::member(owner, key);
    if (content != nullptr && content->IsString()) {
      turn.add(TurnPart::Kind::text, std::string(json::as_string(*content)));
    } else if (content != nullptr && content->IsArray()) {
      for (const json::Value& block : content->GetArray()) {
        add_block(block, blobs, turn);
      }
    }
  }
}

/// The result of a tool is one part, whatever blocks it has.
void fold_result(const json::Value& message, Turn& turn) {
  TurnPart result{TurnPart::Kind::tool_result, "", member_words(message, "toolCallId"),
                  member_words(message, "toolName")};
  result.is_error = json::is_truthy(json::member(message, "isError"));
  for (TurnPart& part : turn.parts) {
    if (part.kind == TurnPart::Kind::image) {
      result.images.push_back(std::move(part.images.front()));
    } else {
      result.text.append(result.text.empty() ? "" : "\n").append(part.text);
    }
  }
  turn.parts = {std::move(result)};
}

/// False for a message that is shown by its text alone.
bool add_message(const json::Value& message, const SpokenEntry& entry, Turn& turn) {
  const auto role = json::string_member(message, "role").value_or("");
  if (role != "user" && role != "assistant" && role != "toolResult" && role != "custom" && role != "hookMessage") {
    return role == "system";
  }
  turn.is_note = role == "custom" || role == "hookMessage";
  if (turn.is_note) {
    turn.add(TurnPart::Kind::text, "[" + member_words(message, "customType") + "]");
  }
  add_blocks(message, entry.blobs, turn);
  if (role == "assistant") {
    turn.speaker = Turn::Speaker::assistant;
    turn.provider = member_words(message, "provider");
    turn.model = member_words(message, "model");
  } else if (role == "toolResult") {
    turn.speaker = Turn::Speaker::tool;
    fold_result(message, turn);
  }
  return true;
}

}  // namespace

bool add_turns_of_omp(const SpokenEntry& entry, std::vector<Turn>& turns) {
  Turn turn;
  turn.time_ms = entry.time_ms;
  json::Document record;
  if (!json::parse(entry.raw, record)) {
    return false;
  }
  if (entry.type == EntryType::message) {
    const json::Value* message = json::member(record, "message");
    if (message == nullptr || !add_message(*message, entry, turn)) {
      return false;
    }
  } else if (entry.type == EntryType::custom_message) {
    turn.is_note = true;
    turn.add(TurnPart::Kind::text, "[" + member_words(record, "customType") + "]");
    add_blocks(record, entry.blobs, turn);
  } else {
    return entry.type != EntryType::compaction && entry.type != EntryType::branch_summary;
  }
  turns.push_back(std::move(turn));
  return true;
}

}  // namespace arborfs
