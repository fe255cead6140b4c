#include "core/formats/claude/last_reply.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/json/json_cursor.h"
#include "core/write/resolve_target.h"

namespace arborfs::claude {
namespace {

constexpr std::size_t kMostParts = 1000;  // of a reply
constexpr std::uint64_t kMostRead = std::uint64_t{64} << 20U;

struct PartAt {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool is_assistant = false;
};

/// The rows around an entry that may be of its reply.
struct Around {
  std::shared_ptr<const LogSource> log;
  std::vector<PartAt> before;  // up from the entry, which is the first
  std::vector<PartAt> after;   // of the assistant, below it with no other message between
};

PartAt part_at(const LogIndex& index, Ordinal ordinal) {
  return {index.entry(ordinal).offset, index.length(ordinal), index.is_assistant(ordinal)};
}

bool is_said(const LogIndex& index, Ordinal ordinal) {
  return index.entry(ordinal).type == EntryType::message;
}

/// The answers of the assistant that follow the entry.
std::vector<PartAt> answers_below(const LogIndex& index, Ordinal entry) {
  std::vector<PartAt> found;
  std::set<Ordinal> above{entry};
  for (Ordinal ordinal = entry + 1; ordinal <= index.size(); ++ordinal) {
    if (!above.contains(index.parent(ordinal))) {
      continue;
    }
    if (!is_said(index, ordinal)) {
      above.insert(ordinal);
    } else if (index.is_assistant(ordinal) && found.size() < kMostParts) {
      found.push_back(part_at(index, ordinal));
    }
  }
  return found;
}

Result<Around> rows_around(const SessionPtr& session, const std::string& at) {
  RETURN_IF_ERROR(session->refresh(Depth::index));
  ASSIGN_OR_RETURN(const auto guard, session->read_index());
  const LogIndex& index = guard.index();
  Ordinal ordinal = guard.leaf();
  Around around;
  around.log = guard.log();
  if (!at.empty()) {
    ASSIGN_OR_RETURN(ordinal, find_leaf_target(index, at));
  }
  if (!at.empty() && ordinal != kNoEntry) {
    around.after = answers_below(index, ordinal);
  }
  for (; ordinal != kNoEntry && around.before.size() < kMostParts; ordinal = index.parent(ordinal)) {
    if (!is_said(index, ordinal)) {
      continue;
    }
    if (!index.is_assistant(ordinal) && index.name(ordinal) != "tool") {
      break;
    }
    around.before.push_back(part_at(index, ordinal));
  }
  return around;
}

Result<std::string> message_at(const LogSource& log, const PartAt& part) {
  if (part.length > kMostRead) {
    return Error{Errc::too_large, "a row of the reply is longer than 64 MiB"};
  }
  ASSIGN_OR_RETURN(const auto row, log.read(part.offset, part.length));
  return std::string(skim::member(row, "message"));
}

}  // namespace

Result<OpenCalls> calls_open_at(const SessionPtr& session, const std::string& at) {
  ASSIGN_OR_RETURN(const auto around, rows_around(session, at));
  std::vector<std::string> messages;
  std::string reply;
  for (const PartAt& part : around.before) {
    ASSIGN_OR_RETURN(auto message, message_at(*around.log, part));
    const std::string id = part.is_assistant ? skim::text_member(message, "id") : "";
    if (part.is_assistant && !reply.empty() && id != reply) {
      break;
    }
    reply = part.is_assistant ? id : std::move(reply);
    messages.push_back(std::move(message));
  }
  for (const PartAt& part : around.after) {
    ASSIGN_OR_RETURN(const auto message, message_at(*around.log, part));
    if (!reply.empty() && skim::text_member(message, "id") == reply) {
      return Error{Errc::invalid_argument,
                   "the entry is within a reply, whose parts Claude Code sends together; choose the last of them"};
    }
  }
  OpenCalls open;
  std::for_each(messages.rbegin(), messages.rend(),
                [&open](const std::string& message) { open.take(skim::member(message, "content")); });
  return open;
}

}  // namespace arborfs::claude
