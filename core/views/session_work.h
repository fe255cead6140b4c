// What sessions did: the files that their tools read, edited and wrote, and the commands that they ran, by the calls in
// their records. Nothing is asked of the files themselves. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/session/session.h"
#include "core/views/tool_calls.h"

namespace arborfs {

struct FileWork {
  std::string path;  // absolute if its session has a working directory
  std::uint64_t reads = 0;
  std::uint64_t edits = 0;
  std::uint64_t writes = 0;
  std::int64_t last_ms = Entry::kNoTime;
  std::vector<EntryOf> entries;  // with the calls
};

struct CommandWork {
  EntryOf entry;  // with the call
  std::int64_t time_ms = Entry::kNoTime;
  std::string command;
  std::string folder;  // "" if it is not known
  bool has_result = false;
  bool has_failed = false;    // as its result says
  std::optional<int> status;  // the exit status, if its result tells it
};

struct SessionWork {
  std::vector<FileWork> files;        // in the order of their paths
  std::vector<CommandWork> commands;  // in the order of their calls
  std::uint64_t too_long = 0;         // entries that were not looked at, since they or all commands are too long
};

/// Reads the whole logs; needs Depth::index. A failed call counts as another one. Errors: stale, io; interrupted once
/// cancelled.
Result<SessionWork> session_work(std::span<const CallsOf> sessions);
/// That of one session, on all branches.
Result<SessionWork> session_work(const Session& session);

// Both texts end with a comment if entries were too long.

/// Tab-separated, below a line with the names: path, reads, edits, writes, last (ISO 8601, "" if not known), entries
/// (their ordinals with commas between them, behind a colon and the name of another session if CallsOf has one).
std::string files_tsv(const SessionWork& work);
/// A script of the commands: above each a comment with its entry, its time, its folder and how it ended.
std::string commands_text(const SessionWork& work);

}  // namespace arborfs
