#include "core/formats/omp/writer/adopted_log.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/formats/omp/write/dialect_rules.h"
#include "core/formats/omp/write/ids.h"
#include "core/formats/omp/writer/new_log.h"
#include "core/json/date.h"
#include "core/json/document.h"

namespace arborfs {
namespace {

using Kind = TurnPart::Kind;

/// The name of an unknown provider or model.
constexpr std::string_view kUnknown = "unknown";

std::string literal(std::string_view text) {
  return json::stringify_string(text);
}

std::string literal_or_unknown(const std::string& text) {
  return literal(text.empty() ? kUnknown : std::string_view(text));
}

/// Chains entries.
class Chain {
 public:
  /// `members` are those after the stamp: `"message":{…}`.
  void add(std::string_view type, std::string_view members, std::int64_t time_ms) {
    const std::string id = new_entry_id([&](std::string_view taken) { return ids_.contains(std::string(taken)); });
    lines_.append("{\"type\":").append(literal(type));
    lines_.append(",\"id\":").append(literal(id));
    lines_.append(",\"parentId\":").append(last_.empty() ? "null" : literal(last_));
    lines_.append(",\"timestamp\":").append(literal(json::iso_time(time_ms)));
    lines_.append(",").append(members).append("}\n");
    ids_.insert(id);
    last_ = id;
  }
  void add_message(std::string_view members, std::int64_t time_ms) {
    add("message", "\"message\":{" + std::string(members) + ",\"timestamp\":" + std::to_string(time_ms) + "}", time_ms);
  }
  [[nodiscard]] std::string take() && { return std::move(lines_); }

 private:
  std::string lines_;
  std::string last_;
  std::set<std::string> ids_;
};

std::string text_block(std::string_view text) {
  return R"({"type":"text","text":)" + literal(text) + "}";
}

std::string image_block(const TurnImage& image) {
  return R"({"type":"image","data":)" + literal(image.base64) + R"(,"mimeType":)" + literal(image.media_type) + "}";
}

std::string block_of(const TurnPart& part) {
  switch (part.kind) {
    case Kind::reasoning:
      return R"({"type":"thinking","thinking":)" + literal(part.text) + "}";
    case Kind::tool_call:
      return R"({"type":"toolCall","id":)" + literal(part.call_id) + R"(,"name":)" + literal(part.tool) +
             R"(,"arguments":)" + part.text + "}";
    case Kind::image:
      return image_block(part.images.front());
    default:
      return text_block(part.text);
  }
}

std::string blocks_of(const Turn& turn) {
  std::string blocks;
  for (const TurnPart& part : turn.parts) {
    blocks.append(blocks.empty() ? "" : ",").append(block_of(part));
  }
  return R"("content":[)" + blocks + "]";
}

/// The agents need members of an answer that another agent does not record. They contain no tokens, so that each token
/// is counted where it was spent.
std::string answer_of(const Turn& turn) {
  const bool calls = std::any_of(turn.parts.begin(), turn.parts.end(),
                                 [](const TurnPart& part) { return part.kind == Kind::tool_call; });
  return R"("role":"assistant",)" + blocks_of(turn) + R"(,"api":"unknown","provider":)" +
         literal_or_unknown(turn.provider) + R"(,"model":)" + literal_or_unknown(turn.model) +
         R"(,"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,)"
         R"("cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":)" +
         (calls ? R"("toolUse")" : R"("stop")");
}

std::string result_message(const TurnPart& result) {
  std::string blocks = result.text.empty() && !result.images.empty() ? "" : text_block(result.text);
  for (const TurnImage& image : result.images) {
    blocks.append(blocks.empty() ? "" : ",").append(image_block(image));
  }
  return R"("role":"toolResult","toolCallId":)" + literal(result.call_id) + R"(,"toolName":)" + literal(result.tool) +
         R"(,"content":[)" + blocks + R"(],"isError":)" + (result.is_error ? "true" : "false");
}

void add_turn(const Turn& turn, Chain& chain) {
  if (turn.speaker == Turn::Speaker::assistant) {
    return chain.add_message(answer_of(turn), turn.time_ms);
  }
  if (turn.speaker == Turn::Speaker::user) {
    return chain.add_message(R"("role":"user",)" + blocks_of(turn), turn.time_ms);
  }
  for (const TurnPart& result : turn.parts) {
    chain.add_message(result_message(result), turn.time_ms);
  }
}

}  // namespace

std::string adopted_lines(const Conversation& conversation, Dialect dialect) {
  Chain chain;
  const std::int64_t first_ms = conversation.turns.front().time_ms;
  chain.add("custom",
            R"("customType":"foreign_session_import","data":{"source":)" + literal(conversation.agent) +
                R"(,"sourceId":)" + literal(conversation.id) + "}",
            first_ms);
  if (rules_of(dialect).names_by_entry && !conversation.title.empty()) {
    chain.add("session_info", "\"name\":" + literal(conversation.title), first_ms);
  }
  for (const Turn& turn : conversation.turns) {
    add_turn(turn, chain);
  }
  return std::move(chain).take();
}

Result<LogPlace> write_adopted_log(Catalog& catalog, std::uint8_t store, const Conversation& conversation,
                                   Dialect dialect, bool sync) {
  ASSIGN_OR_RETURN(const auto cwd, resolved_cwd(conversation.cwd));
  NewHeader header;
  header.timestamp_ms = now_ms();
  header.id = new_session_id(dialect, header.timestamp_ms);
  header.cwd = cwd;
  header.title = rules_of(dialect).names_by_entry ? "" : clean_title(conversation.title);
  const LogPlace place{folder_for(cwd, dialect, catalog, store), log_file_name(header.timestamp_ms, header.id), store};
  return write_new_log(catalog, place, header, adopted_lines(conversation, dialect), conversation.permissions, sync);
}

}  // namespace arborfs
