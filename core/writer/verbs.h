// What can be written to a control file, as one table: the file's name, how its commands are framed, what reading it
// says, and what it does. A new control file is a row here and a name in the mount's folders. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/writer/writer.h"

namespace arborfs {

enum class Framing : std::uint8_t {
  lines,            // all lines of one write(2) are one command
  target_and_text,  // a line, and a text that may follow until close
  messages,         // JSON values, or one text from open to close (command_stream.h)
};

/// What a command is about.
struct Subject {
  SessionPtr session;  // null for `new`
  std::string at;      // branches/<b>/append: the entry that ends the branch (see Writer::append), else ""
};

/// What a command came to.
struct Answer {
  std::string line;  // one JSON line
  /// Puts things back to where they were; null where only a later command could.
  std::function<Result<void>(Writer&)> take_back;
};

/// A command that may not have come completely yet; see CommandStream::SoFar.
struct Incoming {
  std::string_view text;
  bool is_json = false;
  bool is_whole = false;
};

struct Verb {
  std::string_view name;
  Framing framing = Framing::lines;
  bool writes_log = true;  // of the subject's session
  std::string_view usage;  // what a fresh handle reads, with its line feed
  /// See run_verb().
  Result<Answer> (*run)(Writer& writer, const Subject& subject, std::string text, bool is_json);
  /// What the command would be refused for whatever else comes, as far as its text tells. Null: nothing.
  Result<void> (*judge)(Writer& writer, const Subject& subject, const Incoming& incoming);
};

/// invalid_argument for the file's own usage text, which a program that reads the file and writes it back would send.
Result<void> refuse_usage(const Verb& verb, std::string_view text);
/// Takes one command, which it may use up. `is_json`: framed as JSON values, not as text (messages). Errors: those of
/// the Writer's call, invalid_argument and not_utf8 for the text itself, too_large; those of refuse_usage.
Result<Answer> run_verb(const Verb& verb, Writer& writer, const Subject& subject, std::string text, bool is_json);

/// append, branch, label, fork, new, title. Null for another name.
const Verb* find_verb(std::string_view name);
const std::vector<Verb>& all_verbs();

}  // namespace arborfs
