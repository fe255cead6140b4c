#include "core/render/record_renderer.h"

#include <algorithm>
#include <mutex>
#include <span>
#include <utility>

#include "core/base/parallel_for.h"
#include "core/base/result_macros.h"
#include "core/render/text.h"

namespace arborfs {

namespace {

constexpr std::size_t kAtOnce = 4096;  // measures that are held
constexpr std::uint64_t kSharedFrom = std::uint64_t{512}
                                      << 10U;  // fewer bytes are measured before a thread has started

Result<TextMeasure> measure_one(const RecordRenderer& renderer, const LogSource& log, const Entry& entry) {
  if (entry.length > kMaxRenderedEntry) {
    return TextMeasure{too_long_size(entry.length), {}, {}};
  }
  ASSIGN_OR_RETURN(const auto raw, log.read(entry.offset, entry.length));
  return renderer.measure(entry.type, raw);
}

/// The measures of some entries, in their order.
Result<std::vector<TextMeasure>> measure_some(const RecordRenderer& renderer, const LogSource& log,
                                              std::span<const Entry> entries, const std::atomic<bool>* cancelled) {
  std::vector<TextMeasure> measures(entries.size());
  std::mutex mutex;
  std::optional<Error> failed;
  std::atomic<bool> stops{false};
  const auto take = [&](std::size_t i) {
    if (stops || (cancelled != nullptr && cancelled->load(std::memory_order_relaxed))) {
      return;
    }
    auto measured = measure_one(renderer, log, entries[i]);
    if (measured) {
      measures[i] = std::move(*measured);
      return;
    }
    const std::lock_guard lock(mutex);
    failed = measured.error();
    stops = true;
  };
  const std::uint64_t bytes = entries.empty() ? 0 : entries.back().offset + entries.back().length - entries[0].offset;
  if (bytes >= kSharedFrom) {
    parallel_for(entries.size(), take);
  } else {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      take(i);
    }
  }
  if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
    return Error{Errc::interrupted, "reading entries was cancelled"};
  }
  return failed ? Result<std::vector<TextMeasure>>(*failed) : std::move(measures);
}

}  // namespace

Result<TextSizes::Delta> RecordRenderer::measure(const LogSource& log, TextSizes::Delta delta,
                                                 const std::vector<Entry>& entries,
                                                 const std::atomic<bool>* cancelled) const {
  delta.text_sizes.reserve(delta.text_sizes.size() + entries.size());
  for (std::size_t begin = 0; begin < entries.size(); begin += kAtOnce) {
    const auto some = std::span(entries).subspan(begin, std::min(kAtOnce, entries.size() - begin));
    ASSIGN_OR_RETURN(const auto measures, measure_some(*this, log, some, cancelled));
    for (const TextMeasure& measure : measures) {
      delta.add(measure);
    }
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
