#include "core/formats/opencode/replayed_context.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result_macros.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"

namespace arborfs::opencode {
namespace {

// One message as OpenCode sends it to the model: without the parts that are not sent, and with the texts that replace
// others (opencode/FORMAT.md E3, E4). Pure; any thread.

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

std::string string_at(std::string_view object, std::string_view key) {
  return skim::string_value(skim::member(object, key)).value_or("");
}

Candidate candidate_in(std::string_view entry, std::size_t step, Era era) {
  const std::string_view info = skim::member(entry, "info");
  Candidate message;
  message.step = step;
  message.id = string_at(info, "id");
  if (skim::is_string(skim::member(info, "role"), "assistant")) {
    const bool failed = era == Era::database && skim::member(info, "error").starts_with('{');
    message.answers = string_at(info, "parentID");
    message.is_summary =
        skim::member(info, "summary") == "true" && skim::is_truthy(skim::member(info, "finish")) && !failed;
    return message;
  }
  for (skim::Cursor cursor(skim::member(entry, "parts")); cursor.next();) {
    if (skim::is_string(skim::member(cursor.value(), "type"), "compaction")) {
      message.asks_for_summary = true;
      message.tail = era == Era::database ? string_at(cursor.value(), "tail_start_id") : "";
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

}  // namespace

Result<std::string> SentMessage::text() const {
  ASSIGN_OR_RETURN(const auto entry, log->read(offset, length));
  return is_failed_answer(entry) ? std::string() : json::as_utf8(sent_message(entry, end_part));
}

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

}  // namespace arborfs::opencode
