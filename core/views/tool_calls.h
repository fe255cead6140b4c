// Reads sessions for the calls of their agents' own tools and their results, in the order in which they were made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/entry/turn.h"
#include "core/json/document.h"
#include "core/session/session.h"
#include "core/store/tool_shape.h"

namespace arborfs {

/// A session, and which of its calls count. The session outlives it.
struct CallsOf {
  const Session& session;
  std::optional<Ordinal> branch;  // those on the path to this entry, to the leaf for kNoEntry; nothing: those on all
  std::string name = {};          // before which its entries are told apart; "" for the session that a user named
};

/// An entry of one of several sessions.
struct EntryOf {
  Ordinal ordinal = kNoEntry;
  std::string session = {};  // CallsOf::name
  EntryOf(Ordinal of = kNoEntry, std::string name = {}) : ordinal(of), session(std::move(name)) {}
  bool operator==(const EntryOf&) const = default;
};
/// Its number, and of which session it is.
std::string number_of(const EntryOf& entry);

/// The entry that a call or a result stands in.
struct CallEntry {
  EntryOf of;
  std::size_t session = 0;  // its place among the sessions that are read
  std::int64_t time_ms = Entry::kNoTime;
  std::string_view raw;
};

/// Receives what read_tool_calls() finds.
class CallTaker {
 public:
  virtual ~CallTaker() = default;
  /// A call, once, of the form that `shape` says. True if its result is wanted.
  virtual bool take_call(const CallEntry& entry, const TurnPart& call, const ToolShape& shape,
                         const json::Value& arguments) = 0;
  /// The first result of a call whose result is wanted.
  virtual void take_result(const CallEntry& entry, const TurnPart& result) = 0;
};

/// Reads the whole logs; needs Depth::index. Calls of several sessions follow one another by their times. The result of
/// a call counts wherever it stands in the log. An entry beside the conversation, as that of a sub-agent in the same
/// log, is on the branches of the entry before it that is not. The number of entries that are too long to be looked at.
/// Errors: stale, io; interrupted once cancelled.
Result<std::uint64_t> read_tool_calls(std::span<const CallsOf> sessions, CallTaker& taker);

/// The form of a call of one of the format's own tools, whose arguments are then parsed; null for another call.
const ToolShape* shape_of(const Format& format, const TurnPart& call, json::Document& arguments);

/// The working directories of the sessions; "" for one that has none. Errors: stale.
Result<std::vector<std::string>> folders_of(std::span<const CallsOf> sessions);
/// The path from that folder; as it is if the folder is not known.
std::string whole_path(std::string_view path, const std::string& folder);
/// True for a text that can be the path of a file.
bool is_path(std::string_view text);

/// A command as a shell gets it: `["bash","-lc","make"]` is `make`.
std::string command_of(const json::Value& value);
/// True for a command that is a patch itself.
bool is_patch(std::string_view command);

}  // namespace arborfs
