#include "core/formats/goat/write/adopted_messages.h"

#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result_macros.h"
#include "core/formats/goat/write/new_records.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/writer/new_file.h"

namespace arborfs::goat {
namespace {

constexpr std::size_t kLongestImage = kLongestLine / 2;

std::string as_json(std::string_view text) {
  return json::stringify_string(text);
}

/// The content of a message: a text, a list of texts and images, or null.
class SaidContent {
 public:
  explicit SaidContent(AsText& counts) : counts_(counts) {}

  void add_text(const std::string& text) {
    only_text_ = text;
    parts_.push_back(R"({"type":"text","text":)" + as_json(text) + "}");
  }
  void add_image(const TurnImage& image) {
    if (image.base64.size() > kLongestImage) {
      return add_text(image_as_text(image, counts_));
    }
    has_image_ = true;
    parts_.push_back(R"({"type":"image_url","image_url":{"url":)" +
                     as_json("data:" + image.media_type + ";base64," + image.base64) + "}}");
  }
  [[nodiscard]] std::string json() const {
    if (parts_.empty()) {
      return "null";
    }
    if (parts_.size() == 1 && !has_image_) {
      return as_json(only_text_);
    }
    std::string list;
    for (const std::string& part : parts_) {
      list.append(list.empty() ? "" : ",").append(part);
    }
    return "[" + list + "]";
  }

 private:
  AsText& counts_;
  std::vector<std::string> parts_;
  std::string only_text_;
  bool has_image_ = false;
};

class MessageWriter {
 public:
  explicit MessageWriter(AsText& counts) : counts_(counts) {}

  Result<void> add(const Turn& turn) {
    if (turn.speaker == Turn::Speaker::tool) {
      for (const TurnPart& result : turn.parts) {
        RETURN_IF_ERROR(add_result(result, turn.time_ms));
      }
      return {};
    }
    SaidContent content(counts_);
    std::string calls;
    for (const TurnPart& part : turn.parts) {
      if (part.kind == TurnPart::Kind::tool_call) {
        calls += (calls.empty() ? "" : ",") + call_of(part);
      } else if (part.kind == TurnPart::Kind::image) {
        content.add_image(part.images.front());
      } else {
        const bool is_reasoning = part.kind == TurnPart::Kind::reasoning;
        content.add_text(is_reasoning ? reasoning_as_text(part.text, counts_) : part.text);
      }
    }
    const bool is_user = turn.speaker == Turn::Speaker::user;
    made_.turns += is_user ? 1 : 0;
    made_.model = turn.model.empty() ? made_.model : turn.model;
    return add_line(R"({"role":)" + as_json(is_user ? "user" : "assistant") + R"(,"content":)" + content.json() +
                        (calls.empty() ? "" : R"(,"tool_calls":[)" + calls + "]") + "}",
                    turn.time_ms);
  }

  [[nodiscard]] AdoptedMessages take() && { return std::move(made_); }

 private:
  static std::string call_of(const TurnPart& call) {
    return R"({"id":)" + as_json(call.call_id) + R"(,"type":"function","function":{"name":)" + as_json(call.tool) +
           R"(,"arguments":)" + as_json(call.text) + "}}";
  }

  Result<void> add_result(const TurnPart& result, std::int64_t time_ms) {
    SaidContent content(counts_);
    if (const std::string text = result.is_error ? failure_as_text(result.text, counts_) : result.text;
        !text.empty() || result.images.empty()) {
      content.add_text(text);
    }
    for (const TurnImage& image : result.images) {
      content.add_image(image);
    }
    return add_line(
        R"({"role":"tool","content":)" + content.json() + R"(,"tool_call_id":)" + as_json(result.call_id) + "}",
        time_ms);
  }

  Result<void> add_line(const std::string& message, std::int64_t time_ms) {
    ASSIGN_OR_RETURN(auto id, new_uuid());
    const std::string line = message_line(Shape::nested, {std::move(id), go_text(message)}, json::iso_time(time_ms));
    if (line.size() > kLongestLine) {
      return Error{Errc::too_large, "a message of more than 10 MiB would stop goat from reading the session"};
    }
    made_.lines += line;
    ++made_.messages;
    return {};
  }

  AsText& counts_;
  AdoptedMessages made_;
};

}  // namespace

Result<AdoptedMessages> adopted_messages(const Conversation& conversation, AsText& counts) {
  MessageWriter writer(counts);
  for (const Turn& turn : conversation.turns) {
    RETURN_IF_ERROR(writer.add(turn));
  }
  return std::move(writer).take();
}

}  // namespace arborfs::goat
