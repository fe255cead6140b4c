#include "core/entry/record_renderer.h"

#include <algorithm>
#include <mutex>
#include <span>
#include <utility>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/entry/text.h"
#include "core/log/line_reader.h"

namespace arborfs {

namespace {

constexpr std::size_t kAtOnce = 4096;                     // measures that are held
constexpr std::uint64_t kRun = std::uint64_t{64} << 10U;  // bytes that are read at once
constexpr std::size_t kSharedFrom = 4;                    // fewer runs are measured before a thread has started

/// Entries that lie one behind the other, and are read at once.
struct EntryRun {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<EntryRun> runs_of(std::span<const Entry> entries) {
  std::vector<EntryRun> runs;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    const bool goes_on = i > 0 && entry.offset >= entries[i - 1].offset + entries[i - 1].length &&
                         entry.offset + entry.length - entries[runs.back().begin].offset <= kRun;
    if (!goes_on) {
      runs.push_back({i, i});
    }
    runs.back().end = i + 1;
  }
  return runs;
}

std::uint64_t size_of(const Turn& turn) {
  std::uint64_t bytes = 0;
  for (const TurnPart& part : turn.parts) {
    bytes += part.text.size();
    for (const TurnImage& image : part.images) {
      bytes += image.base64.size() + image.url.size();
    }
  }
  return bytes;
}

/// Measures entries on two threads. Memory that is new to the process costs a page fault for each 4 KB, so all of it is
/// used again.
class Measuring {
 public:
  Measuring(const RecordRenderer& renderer, const LogSource& log, const std::stop_token& stop)
      : renderer_(renderer), log_(log), stop_(stop) {}

  /// The measures in the order of the entries, valid until the next call.
  Result<std::span<const TextMeasure>> run(std::span<const Entry> entries) {
    entries_ = entries;
    measures_.clear();
    measures_.resize(entries.size());
    const std::vector<EntryRun> runs = runs_of(entries_);
    const auto take = [&](std::size_t i) {
      if (auto done = is_over() ? Result<void>() : measure(runs[i]); !done) {
        const std::lock_guard lock(mutex_);
        failed_ = done.error();
        has_failed_ = true;
      }
    };
    if (runs.size() >= kSharedFrom) {
      parallel_for(runs.size(), take);
    } else {
      for (std::size_t i = 0; i < runs.size(); ++i) {
        take(i);
      }
    }
    if (stop_.stop_requested()) {
      return Error{Errc::interrupted, "reading entries was cancelled"};
    }
    return failed_ ? Result<std::span<const TextMeasure>>(*failed_) : std::span<const TextMeasure>(measures_);
  }

 private:
  [[nodiscard]] bool is_over() const { return has_failed_ || stop_.stop_requested(); }

  Result<void> measure(const EntryRun& run) {
    const Entry& first = entries_[run.begin];
    const Entry& last = entries_[run.end - 1];
    if (first.length > kMaxRenderedEntry) {  // a run of its own
      measures_[run.begin].size = too_long_size(first.length);
      return {};
    }
    const auto size = static_cast<std::size_t>(last.offset + last.length - first.offset);
    StretchBuffer buffer = take_buffer(size);
    ASSIGN_OR_RETURN(const auto got, log_.read_at(first.offset, std::span(buffer.bytes.get(), size)));
    if (got < size) {
      return Error{Errc::stale, "the log was truncated during the read; try again"};
    }
    for (std::size_t i = run.begin; i < run.end; ++i) {
      const auto at = static_cast<std::size_t>(entries_[i].offset - first.offset);
      measures_[i] = renderer_.measure(entries_[i].type, std::string_view(buffer.bytes.get() + at, entries_[i].length));
      if (!log_.shows_images()) {
        measures_[i].images.clear();
      }
    }
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
    return {};
  }

  StretchBuffer take_buffer(std::size_t size) {
    StretchBuffer buffer;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        buffer = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (buffer.capacity < size) {
      buffer.capacity = std::max<std::size_t>(size, kRun);
      buffer.bytes = std::make_unique_for_overwrite<char[]>(buffer.capacity);
    }
    return buffer;
  }

  const RecordRenderer& renderer_;
  const LogSource& log_;
  const std::stop_token stop_;
  std::span<const Entry> entries_;
  std::vector<TextMeasure> measures_;  // each is written by one thread
  std::atomic<bool> has_failed_{false};
  std::mutex mutex_;                 // guards the rest while threads work
  std::vector<StretchBuffer> free_;  // no more than threads
  std::optional<Error> failed_;
};

}  // namespace

Result<TextSizes::Delta> RecordRenderer::measure(const LogSource& log, TextSizes::Delta delta,
                                                 const std::vector<Entry>& entries, const std::stop_token& stop) const {
  delta.text_sizes.reserve(delta.text_sizes.size() + entries.size());
  Measuring measuring(*this, log, stop);
  for (std::size_t begin = 0; begin < entries.size(); begin += kAtOnce) {
    const auto some = std::span(entries).subspan(begin, std::min(kAtOnce, entries.size() - begin));
    ASSIGN_OR_RETURN(const auto measures, measuring.run(some));
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

Result<std::vector<SaidTurn>> said_turns(const RecordRenderer& renderer, const SpokenPath& spoken) {
  std::vector<SaidTurn> said;
  std::uint64_t bytes = 0;
  RETURN_IF_ERROR(renderer.read_turns(spoken, [&](Ordinal entry, std::vector<Turn> turns) -> Result<void> {
    for (Turn& turn : turns) {
      bytes += size_of(turn);
      said.push_back({entry, std::move(turn)});
    }
    return bytes > kMaxConversation ? Result<void>(conversation_too_long()) : Result<void>();
  }));
  return said;
}

Result<TextSizes> measure_log(const RecordRenderer& renderer, const LogSource& log, const LogIndex& index,
                              const std::stop_token& stop) {
  TextSizes sizes;
  std::vector<Entry> entries;
  entries.reserve(index.size());
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    entries.push_back(index.entry(ordinal));
  }
  ASSIGN_OR_RETURN(auto delta, renderer.measure(log, sizes.next(), entries, stop));
  sizes.apply(std::move(delta));
  sizes.set_session_cost(index.header().cost);
  return sizes;
}

// RecordRenderer::saying: what an entry says, for the name of its session.

namespace {

bool is_summary(std::string_view name) {
  return name == "compaction" || name == "summary" || name == "branch_summary";
}

/// Keeps what goes before, and of equals the first.
void keep(Saying& best, Saying::By by, std::string text) {
  if (by > best.by && text.find_first_not_of(" \t\r\n") != std::string::npos) {
    best = {by, std::move(text)};
  }
}

}  // namespace

Saying RecordRenderer::saying(const SpokenEntry& entry) const {
  std::vector<Turn> turns;
  add_turns(entry, turns);
  Saying best;
  std::string typed;
  for (const Turn& turn : turns) {
    for (const TurnPart& part : turn.parts) {
      const bool is_text = part.kind == TurnPart::Kind::text || part.kind == TurnPart::Kind::tool_result;
      if (!is_text) {
        continue;
      }
      if (turn.speaker != Turn::Speaker::user) {
        keep(best, Saying::By::other, part.text);
        continue;
      }
      keep(best, Saying::By::command, command_in(part.text));
      const std::string own = turn.is_note && !is_summary(entry.name) ? "" : typed_in(part.text);
      turn.is_note ? keep(best, Saying::By::other, own)
                   : void(typed.append(typed.empty() || own.empty() ? "" : " ").append(own));
    }
  }
  keep(best, Saying::By::person, std::move(typed));
  return best;
}

}  // namespace arborfs
