#include "core/writer/conversation.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/json/base64.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/model/context_path.h"
#include "core/model/people_path.h"
#include "core/writer/arranged_turns.h"
#include "core/writer/resolve_target.h"

namespace arborfs {
namespace {

using Kind = TurnPart::Kind;

/// The steps of a path, and the words in their file names.
Result<SpokenPath> steps_to(const Session& session, const std::string& target, Reach reach) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  Ordinal end = guard.leaf();
  if (!target.empty()) {
    ASSIGN_OR_RETURN(end, find_target(guard.index(), target));
  }
  const LogIndex& index = guard.index();
  SpokenPath spoken{reach == Reach::path ? context_path(index, people_entries(index, end)) : context_path(index, end),
                    {},
                    guard.log(),
                    session.store().blobs(),
                    reach};
  for (const ContextPath::Step& step : spoken.path.steps) {
    spoken.names.emplace_back(index.name(step.ordinal));
  }
  return spoken;
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

/// The turns of a path as its agent's renderer finds them, and the number of entries that have none.
struct SaidTurns {
  std::vector<Turn> turns;
  std::size_t left_out = 0;
};

Result<SaidTurns> turns_of(const RecordRenderer& renderer, const SpokenPath& spoken) {
  SaidTurns said;
  std::set<Ordinal> speakers;
  std::uint64_t bytes = 0;
  RETURN_IF_ERROR(renderer.read_turns(spoken, [&](Ordinal entry, std::vector<Turn> turns) -> Result<void> {
    for (Turn& turn : turns) {
      bytes += size_of(turn);
      if (entry != kNoEntry && !turn.parts.empty()) {
        speakers.insert(entry);
      }
      said.turns.push_back(std::move(turn));
    }
    return bytes > kMaxConversation ? Result<void>(conversation_too_long()) : Result<void>();
  }));
  said.left_out = spoken.path.steps.size() - speakers.size();
  return said;
}

/// Fills missing times with those before them, so that times are in the order of turns. A note, such as the summary of
/// a compaction, may be younger than what follows it, which keeps its time.
void settle_times(std::vector<Turn>& turns, const Header& header) {
  for (std::size_t i = turns.size(); i-- > 1;) {
    if (turns[i - 1].is_note && turns[i].time_ms != Entry::kNoTime) {
      turns[i - 1].time_ms = std::min(turns[i - 1].time_ms, turns[i].time_ms);
    }
  }
  std::int64_t time = Entry::kNoTime;
  for (const Turn& turn : turns) {
    if (time == Entry::kNoTime) {
      time = turn.time_ms;
    }
  }
  if (time == Entry::kNoTime) {
    time = json::parse_date(header.timestamp).value_or(now_ms());
  }
  for (Turn& turn : turns) {
    time = std::max(time, turn.time_ms);
    turn.time_ms = time;
  }
}

/// JSON text as json::stringify writes it spells \\udXXX only for half a surrogate pair.
void replace_spelled_surrogates(std::string& json) {
  constexpr std::size_t kSpelling = 6;
  for (std::size_t at = json.find('\\'); at != std::string::npos; at = json.find('\\', at + 2)) {
    if (json.compare(at, 3, "\\ud") == 0) {
      json.replace(at, kSpelling, "\xEF\xBF\xBD");
    }
  }
}

/// Half a surrogate pair becomes U+FFFD: not every agent can read it.
void settle_texts(std::vector<Turn>& turns) {
  for (Turn& turn : turns) {
    for (TurnPart& part : turn.parts) {
      if (part.kind == Kind::tool_call) {
        replace_spelled_surrogates(part.text);
      } else {
        part.text = json::replace_lone_surrogates(part.text);
      }
      part.tool = json::replace_lone_surrogates(part.tool);
      part.call_id = json::replace_lone_surrogates(part.call_id);
    }
  }
}

std::string size_words(const std::string& base64) {
  return base64.empty() ? "" : ", " + std::to_string(json::decoded_base64_size(base64)) + " bytes";
}

}  // namespace

Result<SpokenPath> spoken_path(const SessionPtr& session, const std::string& target, Reach reach) {
  const Session::Use use(session);
  RETURN_IF_ERROR(session->refresh(Depth::index));
  return steps_to(*session, target, reach);
}

Result<Conversation> read_conversation(const SessionPtr& session, const std::string& target, Reach reach) {
  const Session::Use use(session);
  ASSIGN_OR_RETURN(const auto spoken, spoken_path(session, target, reach));
  Header header;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    header = guard.index().header();
  }
  Conversation found{
      {}, header.cwd, header.title, std::string(session->agent()), header.id, {}, 0, permissions_of(*session)};
  ASSIGN_OR_RETURN(auto said, turns_of(*session->format().renderer, spoken));
  found.left_out = said.left_out;
  found.turns = arranged_turns(std::move(said.turns), found.as_text);
  if (found.turns.empty()) {
    return Error{Errc::invalid_argument, "the path has no content, so there is nothing to fork"};
  }
  settle_times(found.turns, header);
  settle_texts(found.turns);
  return found;
}

std::string reasoning_as_text(const std::string& text, AsText& counts) {
  ++counts.reasoning;
  return "<thinking>\n" + text + "\n</thinking>";
}

std::string image_as_text(const TurnImage& image, AsText& counts) {
  ++counts.images;
  const std::string what = image.media_type.empty() ? "" : ": " + image.media_type;
  const bool is_elsewhere = !image.url.empty() && !image.url.starts_with("data:");
  return "[image" + what + size_words(image.base64) + (is_elsewhere ? " at " + image.url : "") + "]";
}

std::string failure_as_text(const std::string& output, AsText& counts) {
  ++counts.errors;
  return "[failed]\n" + output;
}

std::string call_as_text(const std::string& tool, const std::string& arguments) {
  return "[call of the tool " + tool + " without a result: " + arguments + "]";
}

std::string stray_result_as_text(const std::string& tool, const std::string& output) {
  return "[result of a tool" + (tool.empty() ? "" : ": " + tool) + "]\n" + output;
}

std::string result_as_text(const TurnPart& result, AsText& counts) {
  std::string text = result.text;
  for (const TurnImage& image : result.images) {
    text += (text.empty() ? "" : "\n") + image_as_text(image, counts);
  }
  return text;
}

}  // namespace arborfs
