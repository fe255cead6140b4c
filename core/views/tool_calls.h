// Reads a session for the calls of its agent's own tools and their results, in the order of the log, on all branches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/entry/turn.h"
#include "core/json/document.h"
#include "core/session/session.h"
#include "core/store/tool_shape.h"

namespace arborfs {

/// The entry that a call or a result stands in.
struct CallEntry {
  Ordinal ordinal = kNoEntry;
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

/// Reads the whole log; needs Depth::index. The number of entries that are too long to be looked at. Errors: stale, io;
/// interrupted once cancelled.
Result<std::uint64_t> read_tool_calls(const Session& session, CallTaker& taker);

/// The working directory of a session; "" if it has none. Errors: stale.
Result<std::string> folder_of(const Session& session);
/// The path from that folder; as it is if the folder is not known.
std::string whole_path(std::string_view path, const std::string& folder);
/// True for a text that can be the path of a file.
bool is_path(std::string_view text);

/// A command as a shell gets it: `["bash","-lc","make"]` is `make`.
std::string command_of(const json::Value& value);
/// True for a command that is a patch itself.
bool is_patch(std::string_view command);

}  // namespace arborfs
