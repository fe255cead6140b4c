// What records say, in terms that all agents share, so that a session of one agent can be shown like any other's
// (Message) and written as one of another (Turn). Plain values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json/document.h"
#include "core/log/log_index.h"

namespace arborfs {

/// A part of what a record says.
struct MessagePart {
  enum class Kind : std::uint8_t {
    text,
    thinking,
    tool_call,    // of `tool`, with its arguments as JSON in `text`
    tool_output,  // what a tool gave, as it is
    tool_error,   // what follows is the output of a call of `tool` that failed
    image,        // of the media type in `text`, or that of its data: URL
    fields,       // of no known shape: as JSON in `text`, under the name `tool`, which may be ""
  };
  Kind kind = Kind::text;
  std::string text;  // WTF-8
  std::string tool;  // "" if the record does not name it
  /// Of an image: the string in the record that holds its base64 text or its data: URL. Null, or a string that is
  /// neither, for an image whose bytes are elsewhere: it has a number but no file. Lives as long as the record.
  const json::Value* data = nullptr;
  std::string call_id = {};  // of a call, where its result names it
};

/// The parts of one record, in the order in which people read them.
using Message = std::vector<MessagePart>;

/// Makes the texts of a record that holds the output of a tool such output.
inline void make_output(Message& message) {
  for (MessagePart& part : message) {
    part.kind = part.kind == MessagePart::Kind::text ? MessagePart::Kind::tool_output : part.kind;
  }
}

struct TurnImage {
  std::string media_type;  // "image/png"; "" if it is not known
  std::string base64;      // "" if the bytes are not in the session
  std::string url;         // then where they are, as far as it is known
};

/// The image of a data: URL, or of one that leads elsewhere. `media_type` is that of a URL without one.
TurnImage image_of_url(std::string_view url, std::string_view media_type = "");

struct TurnPart {
  enum class Kind : std::uint8_t {
    text,
    reasoning,
    tool_call,
    tool_result,  // its output in `text` and `images`
    image,        // one in `images`
  };
  Kind kind = Kind::text;
  std::string text;          // WTF-8; of a call its arguments as JSON
  std::string call_id = {};  // of a call, and of the result that belongs to it
  std::string tool = {};     // the name, of both
  bool is_error = false;     // of a result: the call failed
  std::vector<TurnImage> images = {};
};

/// Pairs the results of tools with their calls as agents do: a result belongs to the first call with its id that has
/// none yet. `Place`: where a call is.
template <class Place>
class OpenCalls {
 public:
  void add(const std::string& id, const Place& call) { open_[id].push_back(call); }
  /// The call of the next result with this id; nothing if none is open.
  std::optional<Place> take(const std::string& id) {
    const auto calls = open_.find(id);
    if (calls == open_.end() || calls->second.empty()) {
      return std::nullopt;
    }
    const Place call = calls->second.front();
    calls->second.pop_front();
    return call;
  }

 private:
  std::map<std::string, std::deque<Place>> open_;
};

/// Everything that one side says before the other side speaks.
struct Turn {
  enum class Speaker : std::uint8_t { user, assistant, tool };
  Speaker speaker = Speaker::user;
  std::vector<TurnPart> parts;
  std::int64_t time_ms = Entry::kNoTime;
  std::string provider = {};  // of the assistant's model, "" if it is not known
  std::string model = {};
  /// Its content was neither typed by the user nor an answer: a summary, a command that the user ran.
  bool is_note = false;

  void add(TurnPart::Kind kind, std::string text) {
    if (!text.empty()) {
      parts.push_back({kind, std::move(text)});
    }
  }
  void add_call(std::string id, std::string name, std::string arguments) {
    parts.push_back({TurnPart::Kind::tool_call, std::move(arguments), std::move(id), std::move(name)});
  }
  /// The texts, reasoning, calls and images of a message, whose images are URLs.
  void add(const Message& message);
  void add_image(TurnImage image) { parts.push_back({TurnPart::Kind::image, "", "", "", false, {std::move(image)}}); }
};

/// What one entry says; kNoEntry for what no entry says.
struct SaidTurn {
  Ordinal entry = kNoEntry;
  Turn turn;
};

/// A part of a list of turns, by the places of its turn and of itself in that.
using PartAt = std::pair<std::size_t, std::size_t>;

/// The calls and the results in a list of turns. Models refuse calls without a result and results without a call.
struct ToolPairs {
  struct Pair {
    PartAt call;
    PartAt result;
  };
  std::vector<Pair> pairs;      // in the order of the results
  std::set<PartAt> calls;       // without a result
  std::vector<PartAt> results;  // without a call
};
ToolPairs tool_pairs(const std::vector<SaidTurn>& said);

/// The output of a tool in a message, whose images are URLs.
TurnPart result_in(const Message& message, std::string call_id, std::string tool = "");

}  // namespace arborfs
