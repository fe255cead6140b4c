#include "core/views/context_marks.h"

#include <map>
#include <utility>

#include "core/base/words.h"

namespace arborfs {
namespace {

std::string gap_sentence(Ordinal first, Ordinal last, std::size_t count) {
  const std::string number = std::to_string(first);
  return "<p class=\"break\"><a href=\"transcript.html#e" + number + "\">#" + number + "</a>" +
         (count == 1 ? "" : " to #" + std::to_string(last)) + ": " + counted(count, "entry", "entries") +
         " of the conversation, " + (count == 1 ? "which is" : "which are") + " not sent, or only in a summary</p>\n";
}

}  // namespace

std::size_t dropped_bytes(const std::vector<Turn>& said, const Turn& turn) {
  std::size_t dropped = 0;
  for (const TurnPart& part : turn.parts) {
    for (const Turn& whole : said) {
      for (const TurnPart& own : whole.parts) {
        const bool is_it =
            part.kind == TurnPart::Kind::tool_result && own.kind == part.kind && own.call_id == part.call_id;
        dropped += is_it && own.text.size() > part.text.size() ? own.text.size() - part.text.size() : 0;
      }
    }
  }
  return dropped;
}

void mark_gaps(const std::vector<Ordinal>& talk, const std::set<Ordinal>& sent, std::vector<SentMessage>& messages) {
  std::map<Ordinal, std::string> before;  // by the next entry that is sent
  std::string sentence;
  for (std::size_t at = 0; at < talk.size();) {
    const std::size_t first = at;
    while (at < talk.size() && !sent.contains(talk[at])) {
      ++at;
    }
    sentence = at > first ? gap_sentence(talk[first], talk[at - 1], at - first) : "";
    if (at < talk.size()) {
      before[talk[at++]] = std::exchange(sentence, "");
    }
  }
  for (SentMessage& message : messages) {
    if (const auto found = before.find(message.entry); found != before.end()) {
      message.before = std::exchange(found->second, "");
    }
  }
  if (!sentence.empty()) {
    messages.push_back({kNoEntry, sentence, {}});
  }
}

}  // namespace arborfs
