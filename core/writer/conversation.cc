#include "core/writer/conversation.h"

#include <algorithm>
#include <utility>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/json/base64.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/model/tree.h"
#include "core/render/record_renderer.h"
#include "core/render/text.h"
#include "core/writer/arranged_turns.h"
#include "core/writer/resolve_target.h"

namespace arborfs {
namespace {

using Kind = TurnPart::Kind;

/// One entry of the path, copied so that the log is read without the session's lock.
struct Said {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::int64_t time_ms = Entry::kNoTime;
  std::string name;
  EntryType type = EntryType::none;
};

struct SaidPath {
  std::vector<Said> entries;
  std::shared_ptr<const LogSource> log;
  Header header;
};

Result<SaidPath> path_of(const Session& session, const std::string& target) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  Ordinal end = guard.leaf();
  if (!target.empty()) {
    ASSIGN_OR_RETURN(end, find_target(guard.index(), target));
  }
  SaidPath path{{}, guard.log(), guard.index().header()};
  std::uint64_t bytes = 0;
  for (const Ordinal ordinal : path_to(guard.index(), end)) {
    const Entry& entry = guard.index().entry(ordinal);
    path.entries.push_back({entry.offset, guard.index().length(ordinal), entry.timestamp_ms,
                            std::string(guard.index().name(ordinal)), entry.type});
    bytes += path.entries.back().length;
    if (bytes > kMaxConversation || path.entries.back().length > kMaxRenderedEntry) {
      return Error{Errc::too_large,
                   "the conversation is too long for another agent: an entry may have 64 MiB, all of "
                   "them 256 MiB"};
    }
  }
  return path;
}

/// Fills missing times with those before them, so that times are in the order of turns.
void settle_times(std::vector<Turn>& turns, const Header& header) {
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

Result<Conversation> read_conversation(const SessionPtr& session, const std::string& target) {
  const Session::Use use(session);
  RETURN_IF_ERROR(session->refresh(Depth::index));
  ASSIGN_OR_RETURN(const auto path, path_of(*session, target));
  const RecordRenderer& renderer = *session->format().renderer;
  Conversation found{{}, path.header.cwd, path.header.title, std::string(session->agent()), path.header.id, {}, 0};
  std::vector<Turn> said;
  for (const Said& entry : path.entries) {
    ASSIGN_OR_RETURN(const auto raw, path.log->read(entry.offset, entry.length));
    const std::size_t before = said.size();
    renderer.add_turns({entry.type, entry.name, raw, entry.time_ms, *session->store().blobs()}, said);
    const bool says_nothing = std::all_of(said.begin() + static_cast<std::ptrdiff_t>(before), said.end(),
                                          [](const Turn& turn) { return turn.parts.empty(); });
    found.left_out += says_nothing ? 1 : 0;
  }
  found.turns = arranged_turns(std::move(said), found.as_text);
  if (found.turns.empty()) {
    return Error{Errc::invalid_argument, "the path has no content, so there is nothing to fork"};
  }
  settle_times(found.turns, path.header);
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

std::string result_as_text(const TurnPart& result, AsText& counts) {
  std::string text = result.text;
  for (const TurnImage& image : result.images) {
    text += (text.empty() ? "" : "\n") + image_as_text(image, counts);
  }
  return text;
}

}  // namespace arborfs
