#include "core/formats/codex/repetitions.h"

#include <algorithm>

#include "core/base/stripped.h"
#include "core/formats/codex/record.h"
#include "core/log/record_hash.h"

namespace arborfs::codex {
namespace {

/// Without the parts between such tags, which Codex does not show.
std::string without_hidden(std::string_view text) {
  std::string shown(text);
  for (const std::string_view tag : {"oai-mem-citation", "proposed_plan"}) {
    const std::string open = "<" + std::string(tag) + ">";
    const std::string close = "</" + std::string(tag) + ">";
    for (std::size_t at = shown.find(open); at != std::string::npos; at = shown.find(open, at)) {
      const std::size_t end = shown.find(close, at);
      shown.erase(at, end == std::string::npos ? std::string::npos : end + close.size() - at);
    }
  }
  return shown;
}

}  // namespace

std::uint64_t hash_of_words(std::string_view text) {
  const bool may_hide = text.find("<oai-mem-citation>") != std::string_view::npos ||
                        text.find("<proposed_plan>") != std::string_view::npos;
  return may_hide ? record_hash(stripped(without_hidden(text))) : record_hash(stripped(text));
}

void Repetitions::take_item(const Speech& item) {
  if (item.voice == Speech::Voice::user) {
    if (was_repeated_) {
      prompts_.clear();
      was_repeated_ = false;
    } else if (prompts_.size() == kMostTexts) {
      prompts_.pop_front();
    }
    prompts_.emplace_back(item.text.substr(0, kMostKept));
  } else if (item.voice != Speech::Voice::none) {
    auto& items = item.voice == Speech::Voice::answer ? answers_.items : thoughts_.items;
    items.insert(items.end(), item.hashes.begin(), item.hashes.end());
  }
}

bool Repetitions::is_new_prompt(const Speech& event) {
  const std::string_view said = stripped(event.text.substr(0, kMostKept));
  if (said.empty()) {
    return false;
  }
  const bool is_known = std::any_of(prompts_.begin(), prompts_.end(),
                                    [said](const std::string& text) { return text.find(said) != std::string::npos; });
  was_repeated_ = was_repeated_ || is_known;
  return !is_known;
}

void Repetitions::take_event(const Speech& event, RecordSink& sink) {
  Spoken& spoken = event.voice == Speech::Voice::answer ? answers_ : thoughts_;
  spoken.events.insert(spoken.events.end(), event.hashes.begin(), event.hashes.end());
  if (spoken.events.size() + spoken.items.size() > kMostEvents) {
    end_turn(sink);
  }
}

std::size_t Repetitions::Spoken::lone_events() const {
  std::vector<std::uint64_t> said = items;
  std::sort(said.begin(), said.end());
  return static_cast<std::size_t>(std::count_if(events.begin(), events.end(), [&said](std::uint64_t event) {
    return !std::binary_search(said.begin(), said.end(), event);
  }));
}

void Repetitions::end_turn(RecordSink& sink) {
  report(sink);
  answers_ = {};
  thoughts_ = {};
}

void Repetitions::report(RecordSink& sink) const {
  for (std::size_t i = answers_.lone_events(); i > 0; --i) {
    sink.leave_out("event_msg agent_message");
  }
  for (std::size_t i = thoughts_.lone_events(); i > 0; --i) {
    sink.leave_out("event_msg agent_reasoning");
  }
}

}  // namespace arborfs::codex
