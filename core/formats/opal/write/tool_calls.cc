#include "core/formats/opal/write/tool_calls.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/result_macros.h"
#include "core/json/json_cursor.h"
#include "core/model/tree.h"

namespace arborfs::opal {
namespace {

struct EntryBytes {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

EntryBytes bytes_of(const LogIndex& index, Ordinal ordinal) {
  return {index.entry(ordinal).offset, index.length(ordinal)};
}

/// Results are between the message that calls and the next message of these roles.
bool begins_turn(const LogIndex& index, Ordinal ordinal) {
  return index.is_assistant(ordinal) || index.name(ordinal) == "user";
}

/// The entries of the path to `end`, in reverse order, back to its last message of the assistant or the user.
std::vector<EntryBytes> last_turn(const LogIndex& index, Ordinal end) {
  std::vector<EntryBytes> turn;
  Ordinal at = end;
  for (Ordinal steps = 0; at != kNoEntry && steps < index.size(); ++steps) {
    turn.push_back(bytes_of(index, at));
    if (begins_turn(index, at)) {
      break;
    }
    at = index.parent(at);
  }
  return turn;
}

std::string call_id(std::string_view object) {
  return skim::string_value(skim::member(object, "call_id")).value_or("");
}

/// The calls of the messages of one path, one after the other, that have no result yet.
class OpenCalls {
 public:
  /// False if the message answers no call before it, or begins a turn before all are answered.
  bool take(std::string_view message) {
    const std::string_view role = skim::member(message, "role");
    const bool begins = skim::is_string(role, "assistant") || skim::is_string(role, "user");
    const bool is_result = skim::is_string(role, "tool_result");
    const bool fits = is_result ? open_.erase(call_id(message)) == 1 : !begins || open_.empty();
    for (skim::Cursor call(skim::member(message, "tool_calls")); call.next();) {
      open_.insert(call_id(call.value()));
    }
    return fits;
  }

 private:
  std::set<std::string> open_;
};

/// The entries on the path next to a run that is replaced.
struct Around {
  std::shared_ptr<const LogSource> log;
  std::vector<EntryBytes> before;  // the turn that it interrupts or follows, from the end
  std::vector<EntryBytes> after;   // up to the message that begins the next turn
};

Result<Around> around(const Session& session, Ordinal first, Ordinal last) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  const LogIndex& index = guard.index();
  Around found{guard.log(), {}, {}};
  if (first > index.size() || last > index.size()) {
    return session_changed();
  }
  found.before = last_turn(index, index.parent(first));
  const auto path = path_to(index, guard.leaf());
  auto at = std::find(path.begin(), path.end(), last);
  for (at = at == path.end() ? at : at + 1; at != path.end(); ++at) {
    found.after.push_back(bytes_of(index, *at));
    if (begins_turn(index, *at)) {
      break;
    }
  }
  return found;
}

}  // namespace

Result<void> check_answered(const Session& session, Ordinal end) {
  std::vector<EntryBytes> turn;
  std::shared_ptr<const LogSource> log;
  {
    ASSIGN_OR_RETURN(const auto guard, session.read_index());
    turn = end > guard.index().size() ? turn : last_turn(guard.index(), end);
    log = guard.log();
  }
  std::set<std::string> answered;
  for (const EntryBytes& one : turn) {
    ASSIGN_OR_RETURN(const auto line, log->read(one.offset, one.length));
    answered.insert(call_id(line));
    for (skim::Cursor call(skim::member(line, "tool_calls")); call.next();) {
      if (!answered.contains(call_id(call.value()))) {
        return Error{Errc::invalid_argument,
                     "the branch would end in a tool call without its result, which models reject; choose another "
                     "entry, or force it"};
      }
    }
  }
  return {};
}

Result<void> check_replaced(const Session& session, Ordinal first, Ordinal last,
                            const std::vector<std::string>& members) {
  ASSIGN_OR_RETURN(const auto found, around(session, first, last));
  OpenCalls calls;
  for (auto one = found.before.rbegin(); one != found.before.rend(); ++one) {
    ASSIGN_OR_RETURN(const auto line, found.log->read(one->offset, one->length));
    static_cast<void>(calls.take(line));
  }
  bool fits = true;
  for (const std::string& message : members) {
    fits = calls.take("{" + message) && fits;
  }
  for (const EntryBytes& one : found.after) {
    ASSIGN_OR_RETURN(const auto line, found.log->read(one.offset, one.length));
    fits = calls.take(line) && fits;
  }
  if (!fits) {
    return Error{Errc::invalid_argument,
                 "a tool call would lose its result or a result its call, which models reject; replace both, or force "
                 "it"};
  }
  return {};
}

}  // namespace arborfs::opal
