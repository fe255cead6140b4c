#include "core/views/turn_state.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/entry/names.h"
#include "core/entry/people_path.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text.h"
#include "core/log/log_reader.h"
#include "core/session/liveness.h"

namespace arborfs {

namespace {

using How = TurnState::How;

constexpr int kMostSteps = 4096;  // over entries that nobody said
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kAbandoned = 600 * kSecond;  // an agent that only may have the session has left the turn
constexpr std::int64_t kQuiet = 30 * kSecond;       // an answer that never says that it has ended has ended

/// The last entry at the leaf that a person, a model or a tool said, copied so that the log is read without a lock.
struct LastSaid {
  enum class By : std::uint8_t { nobody, caller, model, interruption };  // a caller waits for the model
  By by = By::nobody;
  std::string stem;
  std::string name;
  Entry entry;
  std::uint64_t length = 0;
};

LastSaid::By by_whom(const LogIndex& index, Ordinal ordinal) {
  if (index.entry(ordinal).type != EntryType::message || index.is_aside(ordinal)) {
    return LastSaid::By::nobody;
  }
  const std::string_view role = index.role(ordinal);
  return role == "user" || role == "tool" ? LastSaid::By::caller
         : role == "assistant"            ? LastSaid::By::model
         : role == "interruption"         ? LastSaid::By::interruption
                                          : LastSaid::By::nobody;
}

LastSaid last_said(const LogIndex& index, Ordinal leaf) {
  Ordinal at = leaf;
  for (int steps = 0; at != kNoEntry && steps < kMostSteps; ++steps, at = before_for_people(index, at)) {
    if (const LastSaid::By by = by_whom(index, at); by != LastSaid::By::nobody) {
      return {by, names::entry_stem(index, at), std::string(index.name(at)), index.entry(at), index.length(at)};
    }
  }
  return {};
}

/// True if a call in the entry has no result there.
bool has_open_call(const RecordRenderer& renderer, const SpokenEntry& entry) {
  std::vector<Turn> turns;
  renderer.add_turns(entry, turns);
  std::vector<SaidTurn> said;
  for (Turn& turn : turns) {
    said.push_back({kNoEntry, std::move(turn)});
  }
  return !tool_pairs(said).calls.empty();
}

/// Whether the answer calls for more. Errors: stale, io.
Result<bool> goes_on(const Session& session, const LogSource& log, const LastSaid& last, std::int64_t age_ns) {
  if (last.length > kMaxRenderedEntry) {
    return false;
  }
  const RecordRenderer& renderer = *session.format().renderer;
  ASSIGN_OR_RETURN(const auto raw, log.read(last.entry.offset, last.length));
  const TurnEnd end = renderer.turn_end(raw);
  if (end == TurnEnd::over || end == TurnEnd::goes_on) {
    return end == TurnEnd::goes_on;
  }
  const auto blobs = session.store().blobs();
  return has_open_call(renderer, {last.entry.type, last.name, raw, last.entry.timestamp_ms, *blobs}) ||
         (end == TurnEnd::not_told && age_ns < kQuiet);
}

/// Why nobody goes on with an open turn, in words; "" if an agent works on it.
std::string why_stopped(const Session& session, const Catalog& catalog, std::int64_t age_ns) {
  const Liveness liveness = check_liveness(session, catalog);
  if (liveness.state == Liveness::State::quiet) {
    return "no agent works on the session";
  }
  const bool is_abandoned = liveness.state == Liveness::State::maybe && age_ns > kAbandoned;
  return is_abandoned ? "nothing was written for ten minutes" : "";
}

}  // namespace

std::string_view turn_word(How how) {
  switch (how) {
    case How::open:
      return "open";
    case How::ended:
      return "ended";
    case How::interrupted:
      return "interrupted";
    case How::stopped:
      return "stopped";
    case How::none:
      break;
  }
  return "none";
}

std::string turn_line(const TurnState& state) {
  std::string line(turn_word(state.how));
  line += ": " + (state.entry.empty() ? "the session has no conversation" : state.entry);
  return state.why.empty() ? line : line + " is the last entry; " + state.why;
}

Result<TurnState> turn_state(Session& session, const Catalog& catalog) {
  const Session::Use use(session.shared_from_this());
  RETURN_IF_ERROR(session.refresh(Depth::index));
  std::shared_ptr<const LogSource> log;
  LastSaid last;
  std::int64_t age_ns = 0;
  {
    ASSIGN_OR_RETURN(const auto guard, session.read_index());
    log = guard.log();
    last = last_said(guard.index(), guard.leaf());
    age_ns = now_ns() - guard.stat().mtime_ns;
  }
  if (last.by == LastSaid::By::nobody) {
    return TurnState();
  }
  if (last.by == LastSaid::By::interruption) {
    return TurnState{How::interrupted, std::move(last.stem), ""};
  }
  ASSIGN_OR_RETURN(const auto told, session.format().reader->turn_is_open(*log));
  bool is_open = told.value_or(true);
  if (!told && last.by == LastSaid::By::model) {
    ASSIGN_OR_RETURN(is_open, goes_on(session, *log, last, age_ns));
  }
  if (!is_open) {
    return TurnState{How::ended, std::move(last.stem), ""};
  }
  std::string why = why_stopped(session, catalog, age_ns);
  const How how = why.empty() ? How::open : How::stopped;
  return TurnState{how, std::move(last.stem), std::move(why)};
}

}  // namespace arborfs
