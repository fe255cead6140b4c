#include "core/write/conversation.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/json/base64.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/js_text.h"
#include "core/json/utf8.h"
#include "core/views/session_facts.h"
#include "core/write/resolve_target.h"

namespace arborfs {
namespace {

// What the interfaces of models accept of a conversation, whichever agent sends it: Anthropic's, the strictest, decides
// (claude/FORMAT.md G3).

constexpr std::size_t kLongestName = 128;

std::string_view type_of_bytes(std::string_view bytes) {
  using namespace std::literals;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) {
    return "image/png";
  }
  if (bytes.starts_with("\xff\xd8\xff"sv)) {
    return "image/jpeg";
  }
  if (bytes.starts_with("GIF87a"sv) || bytes.starts_with("GIF89a"sv)) {
    return "image/gif";
  }
  return bytes.starts_with("RIFF"sv) && bytes.substr(std::min<std::size_t>(bytes.size(), 8)).starts_with("WEBP"sv)
             ? "image/webp"
             : "";
}

/// The media type with which models take an image: that of its bytes if they show one of image/png, image/jpeg,
/// image/gif and image/webp, else the one that is told, if it means one of these; "" for an image that they refuse.
std::string accepted_image_type(std::string_view bytes, std::string_view told) {
  if (const auto type = type_of_bytes(bytes); !type.empty()) {
    return std::string(type);
  }
  std::string type(told.substr(0, told.find(';')));
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  if (type.empty()) {
    return "image/png";
  }
  if (type == "image/jpg") {
    return "image/jpeg";
  }
  constexpr std::array<std::string_view, 4> kTypes = {"image/png", "image/jpeg", "image/gif", "image/webp"};
  return std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end() ? "" : type;
}

/// The name of a tool in [A-Za-z0-9_-]{1,128}: other characters become `_`, the rest is cut, and a missing name is
/// `unknown`.
std::string accepted_tool_name(std::string_view name) {
  std::string accepted;
  for (const char c : name) {
    const bool is_continued = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    if (is_continued) {
      continue;
    }
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    accepted += is_plain || c == '-' ? c : '_';
  }
  accepted.resize(std::min(accepted.size(), kLongestName));
  return accepted.empty() ? "unknown" : accepted;
}

using Kind = TurnPart::Kind;

class Arranger {
 public:
  Arranger(std::vector<SaidTurn> said, AsText& counts) : said_(std::move(said)), counts_(counts) {}

  std::vector<Turn> arrange() {
    for (SaidTurn& one : said_) {
      settle_images(one.turn);
      settle_names(one.turn);
      drop_blanks(one.turn);
    }
    for (const ToolPairs::Pair& pair : tool_pairs(said_).pairs) {
      calls_.emplace(pair.result, pair.call);
    }
    for (std::size_t at = 0; at < said_.size(); ++at) {
      if (said_[at].turn.speaker == Turn::Speaker::tool) {
        take_results(at);
      } else if (!said_[at].turn.parts.empty()) {
        take_turn(at);
      }
    }
    return finish();
  }

 private:
  /// A turn, and the results of its calls by the call's place in it.
  struct Placed {
    Turn turn;
    std::map<std::size_t, TurnPart> results;
    std::int64_t results_ms = Entry::kNoTime;
  };

  /// An image without bytes or of a type that models refuse becomes text, and so does an image of the assistant, which
  /// no agent can represent. The base64 of other images is normalised so that every program can read it.
  void settle_images(Turn& turn) {
    for (TurnPart& part : turn.parts) {
      const bool is_image = part.kind == Kind::image;
      std::erase_if(part.images, [&](TurnImage& image) {
        const std::string bytes = json::decode_base64(image.base64);
        image.base64 = json::encode_base64(bytes);
        std::string type = accepted_image_type(bytes, image.media_type);
        const bool is_text = bytes.empty() || type.empty() || turn.speaker == Turn::Speaker::assistant;
        if (is_text) {
          part.text += (part.text.empty() ? "" : "\n") + image_as_text(image, counts_);
        }
        image.media_type = std::move(type);
        return is_text;
      });
      if (is_image && part.images.empty()) {
        part.kind = Kind::text;
      }
    }
  }

  void settle_names(Turn& turn) {
    for (TurnPart& part : turn.parts) {
      if (part.kind == Kind::tool_call) {
        std::string name = accepted_tool_name(part.tool);
        counts_.names += name == part.tool ? 0 : 1;
        part.tool = std::move(name);
      }
    }
  }

  void drop_blanks(Turn& turn) {
    counts_.blanks += std::erase_if(turn.parts, [](const TurnPart& part) {
      return (part.kind == Kind::text || part.kind == Kind::reasoning) && is_blank(part.text);
    });
  }

  void take_turn(std::size_t at) {
    Turn turn = std::move(said_[at].turn);
    counts_.notes += turn.is_note ? 1 : 0;
    name_calls(turn);
    if (continues_last(turn)) {
      Turn& last = placed_.back().turn;
      first_parts_[at] = {placed_.size() - 1, last.parts.size()};
      std::move(turn.parts.begin(), turn.parts.end(), std::back_inserter(last.parts));
      last.model = last.model.empty() ? turn.model : last.model;
    } else {
      first_parts_[at] = {placed_.size(), 0};
      placed_.push_back({std::move(turn), {}, Entry::kNoTime});
    }
  }

  /// Consecutive records of one answer, without a result in between, are one turn.
  [[nodiscard]] bool continues_last(const Turn& turn) const {
    if (placed_.empty() || !placed_.back().results.empty()) {
      return false;
    }
    const Turn& last = placed_.back().turn;
    return turn.speaker == Turn::Speaker::assistant && last.speaker == turn.speaker && !turn.is_note && !last.is_note &&
           (last.model == turn.model || last.model.empty() || turn.model.empty());
  }

  /// Gives the calls ids of their own, and arguments that are an object.
  void name_calls(Turn& turn) {
    for (TurnPart& part : turn.parts) {
      if (part.kind == Kind::tool_call) {
        part.call_id = unused_id(part.call_id);
        part.text = as_object(part.text);
      }
    }
  }

  std::string unused_id(const std::string& told) {
    const std::string stem = told.empty() ? "call" : told;
    std::string id = told.empty() ? "call-1" : told;
    for (std::size_t n = 2; !ids_.insert(id).second; ++n) {
      id = stem + "-" + std::to_string(n);
    }
    return id;
  }

  static std::string as_object(const std::string& arguments) {
    json::Document parsed;
    if (json::parse(arguments, parsed) && parsed.IsObject()) {
      return json::stringify(parsed);
    }
    return arguments.empty() ? "{}" : R"({"input":)" + json::stringify_string(text_in(arguments, parsed)) + "}";
  }
  static std::string text_in(const std::string& arguments, const json::Document& parsed) {
    return parsed.IsString() ? std::string(json::as_string(parsed)) : arguments;
  }

  void take_results(std::size_t at) {
    Turn& turn = said_[at].turn;
    for (std::size_t i = 0; i < turn.parts.size(); ++i) {
      TurnPart& result = turn.parts[i];
      const auto pair = calls_.find({at, i});
      const auto first = pair == calls_.end() ? first_parts_.end() : first_parts_.find(pair->second.first);
      if (first == first_parts_.end()) {
        add_stray(std::move(result), turn.time_ms);
        continue;
      }
      Placed& owner = placed_[first->second.first];
      const std::size_t part = first->second.second + pair->second.second;
      result.call_id = owner.turn.parts[part].call_id;
      result.tool = owner.turn.parts[part].tool;
      owner.results.emplace(part, std::move(result));
      owner.results_ms = std::max(owner.results_ms, turn.time_ms);
    }
  }

  /// A result without a call counts as input from the user.
  void add_stray(TurnPart result, std::int64_t time_ms) {
    ++counts_.results;
    Turn turn;
    turn.time_ms = time_ms;
    turn.add(Kind::text,
             stray_result_as_text(result.tool, result.is_error ? failure_as_text(result.text, counts_) : result.text));
    for (TurnImage& image : result.images) {
      turn.add_image(std::move(image));
    }
    placed_.push_back({std::move(turn), {}, Entry::kNoTime});
  }

  std::vector<Turn> finish() {
    std::vector<Turn> turns;
    if (!placed_.empty() && placed_.front().turn.speaker == Turn::Speaker::assistant) {
      ++counts_.starts;
      turns.emplace_back().add(Kind::text, "[The conversation begins with the assistant.]");
    }
    for (Placed& placed : placed_) {
      close_calls(placed);
      Turn results;
      results.speaker = Turn::Speaker::tool;
      results.time_ms = placed.results_ms;
      for (auto& [part, result] : placed.results) {
        results.parts.push_back(std::move(result));
      }
      turns.push_back(std::move(placed.turn));
      if (!results.parts.empty()) {
        turns.push_back(std::move(results));
      }
    }
    return turns;
  }

  /// Models refuse a call without a result, so it is written as text.
  void close_calls(Placed& placed) {
    for (std::size_t i = 0; i < placed.turn.parts.size(); ++i) {
      TurnPart& part = placed.turn.parts[i];
      if (part.kind == Kind::tool_call && !placed.results.contains(i)) {
        ++counts_.calls;
        part = {Kind::text, call_as_text(part.tool, part.text)};
      }
    }
  }

  std::vector<SaidTurn> said_;
  AsText& counts_;
  std::map<PartAt, PartAt> calls_;  // in said_, by the places of their results there
  std::vector<Placed> placed_;
  std::map<std::size_t, PartAt> first_parts_;  // in placed_, by the turns of said_
  std::set<std::string> ids_;
};

/// Moves the results of tools after the turns with their calls, and joins records of one answer; calls without a
/// result, and results without a call, become text and are counted. The result is as Conversation::turns, except for
/// times and halves of surrogate pairs.
std::vector<Turn> arranged_turns(std::vector<SaidTurn> said, AsText& counts) {
  return Arranger(std::move(said), counts).arrange();
}

Result<SpokenPath> steps_to(const Session& session, const std::string& target, Reach reach) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  Ordinal end = guard.leaf();
  if (!target.empty()) {
    ASSIGN_OR_RETURN(end, find_target(guard.index(), target));
  }
  return spoken_path(session, guard, end, reach);
}

/// The turns of a path as its agent's renderer finds them, and the number of entries that have none.
struct SaidTurns {
  std::vector<SaidTurn> turns;
  std::size_t left_out = 0;
};

/// The entries that a user named. Errors: those of find_target; not_found if one says nothing on the path.
Result<std::set<Ordinal>> entries_in(const Session& session, const std::set<Ordinal>& speakers, Reach reach,
                                     const std::vector<std::string>& named) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  std::set<Ordinal> entries;
  for (const std::string& name : named) {
    ASSIGN_OR_RETURN(const Ordinal entry, find_target(guard.index(), name));
    if (!speakers.contains(entry)) {
      return Error{Errc::not_found, "entry '" + name + "' is not in the context of the fork" +
                                        (reach == Reach::path ? "" : "; --full takes the whole path")};
    }
    entries.insert(entry);
  }
  return entries;
}

std::set<Ordinal> speakers_of(const std::vector<SaidTurn>& said) {
  std::set<Ordinal> speakers;
  for (const SaidTurn& one : said) {
    if (one.entry != kNoEntry && !one.turn.parts.empty()) {
      speakers.insert(one.entry);
    }
  }
  return speakers;
}

Result<SaidTurns> turns_of(const Session& session, const SpokenPath& spoken, const ContextEdit& edit) {
  ASSIGN_OR_RETURN(auto said, said_turns(*session.format().renderer, spoken));
  if (!edit.is_empty()) {
    const auto speakers = speakers_of(said);
    ASSIGN_OR_RETURN(const auto without, entries_in(session, speakers, spoken.reach, edit.without));
    ASSIGN_OR_RETURN(const auto without_output, entries_in(session, speakers, spoken.reach, edit.without_output));
    RETURN_IF_ERROR(edit_turns(without, without_output, said));
  }
  const std::size_t left_out = spoken.path.steps.size() - speakers_of(said).size();
  return SaidTurns{std::move(said), left_out};
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

Result<Conversation> read_conversation(const SessionPtr& session, const std::string& target, Reach reach,
                                       const ContextEdit& edit) {
  const Session::Use use(session);
  ASSIGN_OR_RETURN(const auto spoken, spoken_path(session, target, reach));
  const Header header = session->head().header;  // with the title that a user noted
  Conversation found{
      {}, header.cwd, header.title, std::string(session->agent()), header.id, {}, 0, permissions_of(*session)};
  ASSIGN_OR_RETURN(auto said, turns_of(*session, spoken, edit));
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
