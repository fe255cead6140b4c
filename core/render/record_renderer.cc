#include "core/render/record_renderer.h"

#include <utility>

#include "core/base/result_macros.h"
#include "core/render/text.h"

namespace arborfs {

Result<TextSizes::Delta> RecordRenderer::measure(const LogSource& log, TextSizes::Delta delta,
                                                 const std::vector<Entry>& entries,
                                                 const std::atomic<bool>* cancelled) const {
  delta.text_sizes.reserve(delta.text_sizes.size() + entries.size());
  std::string raw;
  for (const Entry& entry : entries) {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
      return Error{Errc::interrupted, "reading entries was cancelled"};
    }
    if (entry.length > kMaxRenderedEntry) {
      delta.add(TextMeasure{too_long_size(entry.length), {}, {}});
      continue;
    }
    ASSIGN_OR_RETURN(raw, log.read(entry.offset, entry.length));
    delta.add(measure(entry.type, raw));
  }
  return delta;
}

void RecordRenderer::add_turns(const SpokenEntry& entry, std::vector<Turn>& turns) const {
  Turn turn;
  turn.time_ms = entry.time_ms;
  turn.speaker = entry.name == "assistant" ? Turn::Speaker::assistant : Turn::Speaker::user;
  turn.is_note = entry.name != "assistant" && entry.name != "user";
  std::string text = turn.is_note ? "[" + std::string(entry.name) + "]\n" : "";
  render(entry.type, entry.raw, text);
  text.erase(text.find_last_not_of('\n') + 1);
  turn.add(TurnPart::Kind::text, std::move(text));
  turns.push_back(std::move(turn));
}

Result<void> RecordRenderer::read_turns(const SpokenPath& spoken, const TakeTurns& take) const {
  for (std::size_t i = 0; i < spoken.path.steps.size(); ++i) {
    const ContextPath::Step& step = spoken.path.steps[i];
    ASSIGN_OR_RETURN(const auto raw, read_spoken(*spoken.log, step.entry.offset, step.length));
    std::vector<Turn> turns;
    add_turns({step.entry.type, spoken.names[i], raw, step.entry.timestamp_ms, *spoken.blobs}, turns);
    RETURN_IF_ERROR(take(step.ordinal, std::move(turns)));
  }
  return {};
}

Result<std::string> read_spoken(const LogSource& log, std::uint64_t offset, std::uint64_t length) {
  return length > kMaxRenderedEntry ? Result<std::string>(conversation_too_long()) : log.read(offset, length);
}

Error conversation_too_long() {
  return {Errc::too_large,
          "the conversation is too long for another agent: an entry may have 64 MiB, all of them 256 MiB"};
}

Result<TextSizes> measure_log(const RecordRenderer& renderer, const LogSource& log, const LogIndex& index,
                              const std::atomic<bool>* cancelled) {
  TextSizes sizes;
  std::vector<Entry> entries;
  entries.reserve(index.size());
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    entries.push_back(index.entry(ordinal));
  }
  ASSIGN_OR_RETURN(auto delta, renderer.measure(log, sizes.next(), entries, cancelled));
  sizes.apply(std::move(delta));
  sizes.set_session_cost(index.header().cost);
  return sizes;
}

}  // namespace arborfs
