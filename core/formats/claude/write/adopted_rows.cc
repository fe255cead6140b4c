#include "core/formats/claude/write/adopted_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/result_macros.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/js_text.h"
#include "core/json/utf8.h"
#include "core/writer/new_file.h"

namespace arborfs::claude {
namespace {

using Kind = TurnPart::Kind;

std::string spelled(std::string_view text) {
  return json::stringify_string(text);
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Unique ids of tool calls, made of characters that the model's interface accepts.
class CallIds {
 public:
  const std::string& of(const std::string& id) {
    const auto [known, is_new] = ids_.try_emplace(id);
    if (is_new) {
      std::string plain = id;
      std::replace_if(
          plain.begin(), plain.end(), [](char c) { return !is_plain(c) && c != '_' && c != '-'; }, '_');
      known->second = plain;
      for (std::size_t n = 2; !taken_.insert(known->second).second; ++n) {
        known->second = plain + "-" + std::to_string(n);
      }
    }
    return known->second;
  }

 private:
  std::map<std::string, std::string> ids_;
  std::set<std::string> taken_;
};

std::string image_block(const TurnImage& image) {
  return R"({"type":"image","source":{"type":"base64","media_type":)" + spelled(image.media_type) + R"(,"data":)" +
         spelled(image.base64) + "}}";
}

class Rows {
 public:
  Rows(const Conversation& conversation, const std::string& session, AsText& counts)
      : conversation_(conversation), session_(session), counts_(counts) {}

  Result<std::string> make() {
    for (const Turn& turn : conversation_.turns) {
      RETURN_IF_ERROR(turn.speaker == Turn::Speaker::user        ? add_prompt(turn)
                      : turn.speaker == Turn::Speaker::assistant ? add_reply(turn)
                                                                 : add_results(turn));
    }
    return rows_ + title_row(conversation_.title, session_);
  }

 private:
  Result<void> add_row(std::string_view type, std::string_view message, std::int64_t time_ms) {
    ASSIGN_OR_RETURN(auto uuid, new_uuid());
    rows_.append(R"({"parentUuid":)").append(last_.empty() ? "null" : spelled(last_));
    rows_.append(R"(,"isSidechain":false,"userType":"external","cwd":)").append(spelled(conversation_.cwd));
    rows_.append(R"(,"sessionId":)").append(spelled(session_));
    rows_.append(R"(,"type":)").append(spelled(type)).append(R"(,"message":)").append(message);
    rows_.append(R"(,"uuid":)").append(spelled(uuid));
    rows_.append(R"(,"timestamp":)").append(spelled(json::iso_time(time_ms))).append("}\n");
    last_ = std::move(uuid);
    return {};
  }

  Result<void> add_prompt(const Turn& turn) {
    const bool is_text = turn.parts.size() == 1 && turn.parts.front().kind == Kind::text;
    return add_row("user",
                   R"({"role":"user","content":)" +
                       (is_text ? spelled(turn.parts.front().text) : "[" + blocks_of(turn) + "]") + "}",
                   turn.time_ms);
  }

  std::string blocks_of(const Turn& turn) {
    std::string blocks;
    for (const TurnPart& part : turn.parts) {
      blocks.append(blocks.empty() ? "" : ",").append(block_of(part));
    }
    return blocks;
  }

  /// Reasoning is text: the program sends it back to the model, which accepts only reasoning that it has signed.
  std::string block_of(const TurnPart& part) {
    switch (part.kind) {
      case Kind::reasoning:
        return text_block(reasoning_as_text(part.text, counts_));
      case Kind::tool_call:
        return R"({"type":"tool_use","id":)" + spelled(ids_.of(part.call_id)) + R"(,"name":)" + spelled(part.tool) +
               R"(,"input":)" + part.text + "}";
      case Kind::image:
        return image_block(part.images.front());
      default:
        return text_block(part.text);
    }
  }

  /// One row per block; all rows share the id of the message.
  Result<void> add_reply(const Turn& turn) {
    ASSIGN_OR_RETURN(auto uuid, new_uuid());
    std::erase(uuid, '-');
    const bool calls = std::any_of(turn.parts.begin(), turn.parts.end(),
                                   [](const TurnPart& part) { return part.kind == Kind::tool_call; });
    const std::string head = R"({"id":"msg_)" + uuid + R"(","type":"message","role":"assistant","model":)" +
                             spelled(turn.model.empty() ? "unknown" : turn.model) + R"(,"content":[)";
    const std::string tail = R"(],"stop_reason":)" + std::string(calls ? R"("tool_use")" : R"("end_turn")") +
                             R"(,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0,)"
                             R"("cache_creation_input_tokens":0,"cache_read_input_tokens":0}})";
    for (const TurnPart& part : turn.parts) {
      RETURN_IF_ERROR(add_row("assistant", head + block_of(part) + tail, turn.time_ms));
    }
    return {};
  }

  Result<void> add_results(const Turn& turn) {
    for (const TurnPart& result : turn.parts) {
      std::string content = spelled(result.text);
      if (!result.images.empty()) {
        content = is_blank(result.text) ? "" : text_block(result.text);
        for (const TurnImage& image : result.images) {
          content.append(content.empty() ? "" : ",").append(image_block(image));
        }
        content = "[" + content + "]";
      }
      RETURN_IF_ERROR(add_row("user",
                              R"({"role":"user","content":[{"tool_use_id":)" + spelled(ids_.of(result.call_id)) +
                                  R"(,"type":"tool_result","content":)" + content +
                                  (result.is_error ? R"(,"is_error":true)" : "") + "}]}",
                              turn.time_ms));
    }
    return {};
  }

  const Conversation& conversation_;
  const std::string& session_;
  AsText& counts_;
  std::string rows_;
  std::string last_;  // the uuid of the last row
  CallIds ids_;
};

}  // namespace

std::string text_block(std::string_view text) {
  return R"({"type":"text","text":)" + spelled(text) + "}";
}

std::string title_row(const std::string& title, const std::string& session) {
  return title.empty() ? ""
                       : R"({"type":"custom-title","customTitle":)" + spelled(title) + R"(,"sessionId":)" +
                             spelled(session) + "}\n";
}

Result<std::string> adopted_rows(const Conversation& conversation, const std::string& session, AsText& counts) {
  return Rows(conversation, session, counts).make();
}

}  // namespace arborfs::claude
