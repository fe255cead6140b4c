#include "core/formats/opal/write/adopted_log.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/opal/write/new_lines.h"
#include "core/json/document.h"
#include "core/writer/command_text.h"

namespace arborfs::opal {
namespace {

using Kind = TurnPart::Kind;

std::string spelled(std::string_view text) {
  return json::stringify_string(text);
}

/// A message as it grows: reasoning, then a text, then calls.
struct Message {
  std::string_view role;
  std::optional<std::string> thinking = {};
  std::optional<std::string> content = {};
  std::string calls = {};
  std::vector<std::string> call_ids = {};

  [[nodiscard]] bool is_empty() const { return !thinking && !content && calls.empty(); }
  [[nodiscard]] std::string members() const {
    std::string text =
        "\"role\":" + spelled(role) + ",\"content\":" + (content ? spelled(*content) : "null") + ",\"is_error\":false";
    text += calls.empty() ? "" : ",\"tool_calls\":[" + calls + "]";
    text += thinking ? ",\"thinking\":" + spelled(*thinking) : "";
    return text + "}";
  }
};

class Lines {
 public:
  explicit Lines(AsText& counts) : counts_(counts) {}

  Result<void> add_all(const std::vector<Turn>& turns) {
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const bool has_results = i + 1 < turns.size() && turns[i + 1].speaker == Turn::Speaker::tool;
      if (turns[i].speaker != Turn::Speaker::tool) {
        RETURN_IF_ERROR(add(turns[i], has_results ? &turns[i + 1] : nullptr));
      }
    }
    return {};
  }
  [[nodiscard]] const std::string& text() const { return lines_; }
  [[nodiscard]] const std::string& leaf() const { return leaf_; }

 private:
  /// A message has one text, so a turn may be several; the results of calls follow the message that has these.
  Result<void> add(const Turn& turn, const Turn* results) {
    const bool is_user = turn.speaker == Turn::Speaker::user;
    Message message{is_user ? "user" : "assistant"};
    for (const TurnPart& part : turn.parts) {
      const bool is_behind = part.kind == Kind::reasoning
                                 ? !message.is_empty()
                                 : part.kind != Kind::tool_call && (message.content || !message.calls.empty());
      if (is_behind) {
        RETURN_IF_ERROR(flush(message, results));
      }
      take(part, message);
    }
    return flush(message, results);
  }

  void take(const TurnPart& part, Message& message) {
    if (part.kind == Kind::reasoning) {
      message.thinking = part.text;
    } else if (part.kind == Kind::tool_call) {
      message.calls.append(message.calls.empty() ? "" : ",");
      message.calls.append("{\"call_id\":" + spelled(part.call_id) + ",\"name\":" + spelled(part.tool));
      message.calls.append(",\"arguments\":" + part.text + "}");
      message.call_ids.push_back(part.call_id);
    } else {
      message.content = part.kind == Kind::image ? image_as_text(part.images.front(), counts_) : part.text;
    }
  }

  Result<void> flush(Message& message, const Turn* results) {
    if (message.is_empty()) {
      return {};
    }
    RETURN_IF_ERROR(add_line(message.members()));
    for (const std::string& id : message.call_ids) {
      for (const TurnPart& result : results->parts) {
        if (result.call_id == id) {
          RETURN_IF_ERROR(add_line(R"("role":"tool_result","content":)" + spelled(result_as_text(result, counts_)) +
                                   R"(,"is_error":)" + (result.is_error ? "true" : "false") + R"(,"call_id":)" +
                                   spelled(id) + "}"));
        }
      }
    }
    message = Message{message.role};
    return {};
  }

  Result<void> add_line(const std::string& members) {
    ASSIGN_OR_RETURN(auto id, new_message_id());
    lines_ += message_line(id, leaf_, members);
    leaf_ = std::move(id);
    return {};
  }

  AsText& counts_;
  std::string lines_;
  std::string leaf_;
};

}  // namespace

Result<std::string> adopted_log(const Conversation& conversation, const std::string& session, AsText& counts) {
  Lines lines(counts);
  RETURN_IF_ERROR(lines.add_all(conversation.turns));
  const std::string title = one_line_title(conversation.title);
  const std::string metadata = title.empty() ? "{}" : R"({"title":)" + spelled(title) + "}";
  return R"({"session_id":)" + spelled(session) + R"(,"current_id":)" + spelled(lines.leaf()) + R"(,"metadata":)" +
         metadata + "}\n" + lines.text();
}

}  // namespace arborfs::opal
