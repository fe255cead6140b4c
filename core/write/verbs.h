// The commands that can be written to control files, as one table: the file's name, how its commands are framed, what a
// read returns, and what a command does. A new control file is a row here and its function; the mount shows it in the
// folders of the sessions whose format supports it. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/write/writer.h"

namespace arborfs {

enum class Framing : std::uint8_t {
  lines,            // all lines of one write(2) are one command
  target_and_text,  // a line, and a text that may follow until close
  messages,         // JSON values, or one text from open to close (command_stream.h)
};

/// The file of the mount that takes a verb's commands.
enum class VerbFile : std::uint8_t {
  of_session,  // a control file in the folders of sessions
  of_mount,    // a control file in the root
  of_view,     // the view of the verb's name (session_views.h)
};

/// The target of a command.
struct Subject {
  SessionPtr session;  // null for `new`
  std::string at;      // branches/<b>/append: the entry that ends the branch (see Writer::append_text), else ""
  bool adds = false;   // for `tags`: the file was opened to append, or has taken a command already
};

/// The result of a command.
struct Answer {
  std::string line;  // one JSON line
  /// Restores the previous state; null if only another command can do that.
  std::function<Result<void>(Writer&)> take_back;
};

/// A command that may be incomplete; see CommandStream::SoFar.
struct Incoming {
  std::string_view text;
  bool is_json = false;
  bool is_whole = false;
};

struct Verb {
  std::string_view name;
  Framing framing = Framing::lines;
  bool writes_log = true;  // of the subject's session, if its format supports the verb
  std::string_view usage;  // see usage_text(); "" for a view
  /// See run_verb().
  Result<Answer> (*run)(Writer& writer, const Subject& subject, std::string text, bool is_json);
  /// Fails if the command would be refused regardless of the text that follows. Null: there is no such check.
  Result<void> (*judge)(Writer& writer, const Subject& subject, const Incoming& incoming) = nullptr;
  VerbFile file = VerbFile::of_session;
  bool is_for_all = false;                 // sessions of every format support it, whatever Format::verbs says
  std::string_view usage_for_others = "";  // of sessions whose format does not support it, if it is for all
  /// The room for a command that writes elsewhere than to the subject's session, as far as its text says now; none for
  /// one that will be refused. Null: what Writer::reserve() reserves.
  std::vector<RoomAt> (*room)(Writer& writer, const Subject& subject, std::string_view text) = nullptr;
  [[nodiscard]] bool is_taken_by(const Format& format) const { return is_for_all || format.takes(name); }
  /// False for sessions of a format that does not support it, where a verb that is for all changes notes.
  [[nodiscard]] bool changes_log_of(const Format& format) const { return writes_log && format.takes(name); }
  /// For the sessions of a format.
  [[nodiscard]] std::string_view usage_for(const Format& format) const;
};

/// Runs one command. `is_json`: framed as JSON values, not as text (messages); a JSON value may hold any text. Errors:
/// those of the Writer's call; invalid_argument, not_utf8 and too_large for the text itself; those of refuse_usage.
Result<Answer> run_verb(const Verb& verb, Writer& writer, const Subject& subject, std::string text, bool is_json);

/// Null for a name that is not a verb.
const Verb* find_verb(std::string_view name);
/// In the order in which a session's folder lists them.
const std::vector<Verb>& all_verbs();

/// What a read of a new handle of a control file returns for the subject's sessions: how to use the file. Each line
/// begins with `# `.
std::string usage_text(const Verb& verb, const Subject& subject);
/// Fails with invalid_argument if the text contains a line of usage_text(), wherever it is: an editor that has opened
/// the control file saves that text along with what its user has typed (CONTRACT.md 4.3).
Result<void> refuse_usage(const Verb& verb, const Subject& subject, std::string_view text);

}  // namespace arborfs
