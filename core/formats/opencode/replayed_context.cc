#include "core/formats/opencode/replayed_context.h"

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result_macros.h"
#include "core/formats/opencode/sent_parts.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"

namespace arborfs::opencode {
namespace {

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
