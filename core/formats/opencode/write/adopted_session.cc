#include "core/formats/opencode/write/adopted_session.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/clock.h"
#include "core/formats/opencode/write/new_ids.h"
#include "core/json/date.h"
#include "core/json/document.h"

namespace arborfs::opencode {
namespace {

using PartKind = TurnPart::Kind;

std::string spelled(std::string_view text) {
  return json::stringify_string(text);
}

std::string spelled_or_unknown(const std::string& text) {
  return spelled(text.empty() ? "unknown" : std::string_view(text));
}

class Builder {
 public:
  Builder(const Conversation& conversation, AsText& counts)
      : conversation_(conversation), counts_(counts), now_ms_(now_ms()) {}

  AdoptedSession build() {
    session_.id = new_session_id(now_ms_);
    session_.slug = "fork-" + session_.id.substr(session_.id.size() - kSlugLetters);
    session_.created_ms = now_ms_;
    session_.title = conversation_.title.empty() ? "New session - " + json::iso_time(now_ms_) : conversation_.title;
    const auto& turns = conversation_.turns;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (turns[i].speaker == Turn::Speaker::user) {
        add_prompt(turns[i]);
      } else if (turns[i].speaker == Turn::Speaker::assistant) {
        const bool has_results = i + 1 < turns.size() && turns[i + 1].speaker == Turn::Speaker::tool;
        add_answer(turns[i], has_results ? &turns[i + 1] : nullptr);
      }
    }
    return std::move(session_);
  }

 private:
  static constexpr std::size_t kSlugLetters = 8;
  static constexpr std::uint32_t kMostInOneMs = 4095;  // that an id can count

  /// Ids sort in the order in which they are generated.
  std::string next_id(std::string_view kind) {
    if (count_ == kMostInOneMs) {
      ++id_ms_;
      count_ = 0;
    }
    return new_id(kind, now_ms_ + id_ms_, ++count_);
  }

  AdoptedMessage& begin_message(const Turn& turn) {
    AdoptedMessage message;
    message.info.id = next_id("msg");
    message.time_ms = turn.time_ms;
    session_.messages.push_back(std::move(message));
    return session_.messages.back();
  }

  void add_part(AdoptedMessage& message, std::string members) {
    message.parts.push_back({next_id("prt"), std::move(members)});
  }

  /// Without a model: the program goes on with the one of its configuration, and fails with one that this lacks.
  void add_prompt(const Turn& turn) {
    AdoptedMessage& message = begin_message(turn);
    message.info.members =
        R"("role":"user","time":{"created":)" + std::to_string(turn.time_ms) + R"(},"agent":"build")";
    for (const TurnPart& part : turn.parts) {
      add_part(message, part.kind == PartKind::image ? image_members(part.images.front())
                                                     : R"("type":"text","text":)" + spelled(part.text));
    }
    last_prompt_ = message.info.id;
  }

  void add_answer(const Turn& turn, const Turn* results) {
    AdoptedMessage& message = begin_message(turn);
    const std::int64_t end_ms = results == nullptr ? turn.time_ms : results->time_ms;
    message.info.members =
        R"("role":"assistant","time":{"created":)" + std::to_string(turn.time_ms) + R"(,"completed":)" +
        std::to_string(end_ms) + R"(},"parentID":)" + spelled(last_prompt_.empty() ? message.info.id : last_prompt_) +
        R"(,"modelID":)" + spelled_or_unknown(turn.model) + R"(,"providerID":)" + spelled_or_unknown(turn.provider) +
        R"(,"mode":"build","agent":"build","path":{"cwd":)" + spelled(conversation_.cwd) + R"(,"root":)" +
        spelled(conversation_.cwd) +
        R"(},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"finish":)" +
        (results == nullptr ? R"("stop")" : R"("tool-calls")");
    for (const TurnPart& part : turn.parts) {
      if (part.kind == PartKind::tool_call) {
        add_tool(message, part, *results, turn.time_ms);
      } else {
        const std::string time = time_members(turn.time_ms, turn.time_ms);
        add_part(message, R"("type":)" + spelled(part.kind == PartKind::reasoning ? "reasoning" : "text") +
                              R"(,"text":)" + spelled(part.text) + R"(,"time":)" + time);
      }
    }
  }

  static std::string time_members(std::int64_t start_ms, std::int64_t end_ms) {
    return R"({"start":)" + std::to_string(start_ms) + R"(,"end":)" + std::to_string(end_ms) + "}";
  }

  static std::string image_members(const TurnImage& image) {
    return R"("type":"file","mime":)" + spelled(image.media_type) + R"(,"url":)" +
           spelled("data:" + image.media_type + ";base64," + image.base64);
  }

  void add_tool(AdoptedMessage& message, const TurnPart& call, const Turn& results, std::int64_t start_ms) {
    const auto result = std::find_if(results.parts.begin(), results.parts.end(),
                                     [&](const TurnPart& part) { return part.call_id == call.call_id; });
    const std::string id = next_id("prt");
    std::string state =
        R"({"status":)" + spelled(result->is_error ? "error" : "completed") + R"(,"input":)" + call.text;
    if (result->is_error) {
      state += R"(,"error":)" + spelled(result_as_text(*result, counts_));
    } else {
      state += R"(,"output":)" + spelled(result->text) + R"(,"title":)" + spelled(call.tool) + R"(,"metadata":{})";
    }
    state += R"(,"time":)" + time_members(start_ms, std::max(start_ms, results.time_ms));
    if (!result->is_error && !result->images.empty()) {
      state += R"(,"attachments":[)" + attachments_of(*result, message.info.id) + "]";
    }
    message.parts.push_back({id, R"("type":"tool","callID":)" + spelled(call.call_id) + R"(,"tool":)" +
                                     spelled(call.tool) + R"(,"state":)" + state + "}"});
  }

  std::string attachments_of(const TurnPart& result, const std::string& message) {
    std::string files;
    for (const TurnImage& image : result.images) {
      files += (files.empty() ? "" : ",") + std::string(R"({"id":)") + spelled(next_id("prt")) + R"(,"sessionID":)" +
               spelled(session_.id) + R"(,"messageID":)" + spelled(message) + "," + image_members(image) + "}";
    }
    return files;
  }

  const Conversation& conversation_;
  AsText& counts_;
  const std::int64_t now_ms_;
  std::int64_t id_ms_ = 0;  // offset that makes the time in ids later
  std::uint32_t count_ = 0;
  AdoptedSession session_;
  std::string last_prompt_;
};

}  // namespace

AdoptedSession adopted_session(const Conversation& conversation, AsText& counts) {
  return Builder(conversation, counts).build();
}

}  // namespace arborfs::opencode
