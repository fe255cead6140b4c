// How the verbs reach a store, its sessions and their documents.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/session/catalog.h"
#include "core/views/session_views.h"
#include "core/writer/writer.h"
#include "tools/arborfs/command_line.h"

namespace arborfs::cli {

/// The catalog of the agent dir that the command line names, with every session's head read. Errors: not_found when
/// the agent dir has no sessions folder.
Result<std::unique_ptr<Catalog>> open_catalog(const CommandLine& line, Terminal& io);

/// How much of a title is shown in lists.
inline constexpr std::size_t kTitleCharacters = 120;

struct Listed {
  SessionPtr session;
  ProjectPtr project;
  std::string id;  // as in by-id/; the folder's name for a log that has none
  std::int64_t mtime_ns = 0;
};
/// Every session, newest first.
std::vector<Listed> all_sessions(const Catalog& catalog);
/// One of them; `id` is empty when the catalog does not show it.
Listed listed(const Catalog& catalog, const SessionPtr& session);

/// All that are named, in their order, each once. Errors: those of find_session, for the first that fails.
Result<std::vector<Listed>> listed_all(const Catalog& catalog, const std::vector<std::string>& spelled);
/// The session that a person means, as Catalog::find; when an id fits several, the error lists them.
Result<SessionPtr> find_session(const Catalog& catalog, const std::string& spelled);

/// A session with its catalog, read as deep as asked for.
struct Opened {
  std::unique_ptr<Catalog> catalog;
  Listed of;
};
Result<Opened> open_session(const CommandLine& line, Depth depth, Terminal& io);

/// The entry that a person means; the leaf for "" and "leaf", kNoEntry when the log has none. Errors: not_found.
Result<Ordinal> find_entry(const Session& session, const std::string& spelled);

/// How the line wants a store to be written. `force` means live sessions too.
WriteSettings write_settings(const CommandLine& line);

/// Where the log lies, fit to be shown.
std::string log_path(const Session& session, const Catalog& catalog);
/// The one line of text that stands for an entry, at most so many characters; "" when it cannot be read.
std::string first_words(const Session& session, Ordinal ordinal, const Catalog& catalog, std::size_t characters);

/// How a document is written.
struct Form {
  bool safe_json = false;  // it is JSON, and a terminal gets it
  bool one_line = false;   // it is JSON, and the newlines between its tokens are to be left out
};
/// Writes a document piece by piece.
Result<void> write_content(const Content& content, Form form, Terminal& io);

// Both write to standard error: a sentence, or {"error":{"code":"ENOENT","message":"…"}} when the line says --json.
/// Says what failed and gives kFailed.
int fail(Terminal& io, const Error& error);
/// Says what the line of this verb lacks and gives kUsage.
int misused(Terminal& io, const std::string& verb, const std::string& complaint);

}  // namespace arborfs::cli
