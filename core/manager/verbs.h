// What can be written to a control file, as one table: the file's name, how its commands are framed, what reading it
// says, and what it does. A new control file is a row here and a name in the mount's folders. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/manager/writer.h"

namespace arborfs {

enum class Framing : std::uint8_t {
  lines,     // all lines of one write(2) are one command
  messages,  // JSON values, or one text from open to close (command_stream.h)
};

/// What a command is about.
struct Subject {
  SessionPtr session;  // null for `new`
  std::string at;      // branches/<b>/append: the entry that ends the branch (see Writer::append), else ""
};

struct Verb {
  std::string_view name;
  Framing framing = Framing::lines;
  std::string_view usage;  // what a fresh handle reads, with its line feed
  /// Takes one command and gives its result, one JSON line. `is_json`: framed as JSON values, not as text (messages).
  /// Errors: those of the Writer's call, invalid_argument and not_utf8 for the text itself, too_large.
  Result<std::string> (*run)(Writer& writer, const Subject& subject, std::string_view text, bool is_json);
};

/// append, branch, label, fork, new, title. Null for another name.
const Verb* find_verb(std::string_view name);
const std::vector<Verb>& all_verbs();

}  // namespace arborfs
