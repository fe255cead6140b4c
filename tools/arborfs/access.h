// Access of the verbs to a store, its sessions and their documents.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "core/session/session.h"
#include "core/session/session_name.h"
#include "core/write/writer.h"
#include "tools/arborfs/command_line.h"

namespace arborfs::cli {

/// The stores that the command line names.
Result<std::vector<ChosenStore>> chosen_stores(const CommandLine& line);

/// The user's home folder, of which the names of projects leave out the path.
std::string home_of(const Terminal& io);

/// Opens the catalog of the stores that the command line names, else of the user's own, and reads every session's head.
/// A store that cannot be read does not hide the others; a warning names it. Errors: not_found if no store has a
/// sessions folder; those of open_stores.
Result<std::unique_ptr<Catalog>> open_catalog(const CommandLine& line, Terminal& io);

/// Lists show at most this much of a title.
inline constexpr std::size_t kTitleCharacters = 120;

struct Listed {
  SessionPtr session;
  ProjectPtr project;
  std::string id;  // as in by-id/; the session folder's name for a log without id
  std::int64_t mtime_ns = 0;
  std::string starter;  // the id of the session in whose children/ it is; "" for one in its project
};
/// Every session, newest first.
std::vector<Listed> all_sessions(const Catalog& catalog);
/// One session; `id` is empty if the catalog does not show it.
Listed listed(const Catalog& catalog, const SessionPtr& session);

/// The shortest prefix of at least eight characters that distinguishes the id from all others.
std::string short_id(const CatalogView& view, const std::string& id);

/// A line for each session, as `ls` prints it, with a newline and an indent before it; only the first ones if there are
/// many.
std::string session_lines(std::vector<Listed> sessions);

/// The named sessions in their order, each once. Errors: those of find_session, for the first that fails.
Result<std::vector<Listed>> listed_all(Catalog& catalog, const std::vector<std::string>& spelled);
/// The session that the user names, as Catalog::find. If an id fits several, the error lists them.
Result<SessionPtr> find_session(Catalog& catalog, const std::string& spelled);

/// A session with its catalog, read to the requested depth.
struct Opened {
  std::unique_ptr<Catalog> catalog;
  Listed of;
};
Result<Opened> open_session(const CommandLine& line, Depth depth, Terminal& io);

/// The error about a word of the user, with the word before it.
Error about_word(const std::string& word, const Error& error);
/// The same for a word that names no entry, with the label or the word for an entry that was probably meant.
Error about_entry(const Session::Guard& guard, const std::string& word, const Error& error);
/// The error about a word that names what is before the first entry, where an entry is needed.
Error before_the_first();
/// As find_by_word, for the session's leaf. Errors: not_found, about the word.
Result<std::optional<Ordinal>> word_meant(const Session::Guard& guard, const std::string& word);
/// The entry that the user names, as find_by_word and find_target. "" and "leaf" name the leaf, which is kNoEntry if
/// the log has none. Errors: not_found.
Result<Ordinal> find_entry(const Session& session, const std::string& spelled);
/// The last entry of the branch that the user names: as in branches/, else as find_entry. "" names the current one.
Result<Ordinal> find_branch(const Session& session, const std::string& spelled);

/// The write settings of the command line. `force` also allows writes to live sessions.
WriteSettings write_settings(const CommandLine& line);

/// The path of the log, safe to show.
std::string log_path(const Session& session);
/// The beginning of an entry's text as one line of at most `characters`; "" if it cannot be read.
std::string first_words(const Session& session, Ordinal ordinal, const Catalog& catalog, std::size_t characters);

/// The form in which a document is written.
struct Form {
  bool safe_json = false;  // it is JSON and goes to a terminal
  bool one_line = false;   // it is JSON, and the newlines between its tokens are left out
  bool coloured = false;   // it is Markdown: headings are set off
  std::size_t width = 0;   // it is Markdown: lines outside of code are broken at spaces; 0: they are not
};
/// Writes a document piece by piece.
Result<void> write_content(const Content& content, Form form, Terminal& io);

// Both write to standard error: a sentence, or {"error":{"code":"ENOENT","message":"…"}} with --json.
/// Reports the error and returns kFailed.
int fail(Terminal& io, const Error& error);
/// Reports wrong usage of this verb and returns kUsage.
int misused(Terminal& io, const std::string& verb, const std::string& complaint);

}  // namespace arborfs::cli
