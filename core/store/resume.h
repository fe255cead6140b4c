// The command with which an agent resumes one of its sessions. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/store/format.h"

namespace arborfs {

struct LogPlace;  // core/store/session_store.h

/// How an agent's command line names the session to resume. Constant data of a format.
struct ResumeCommand {
  std::string_view program;  // found through $PATH
  std::string_view option;   // the word before the session: an option or a subcommand
  /// The session is named by the path of its log, else by its id.
  bool takes_path = false;
  /// False if the program cannot open a session that another session started.
  bool takes_children = true;
  /// Set for a store that the user named: the folder with the agent's state, without `below` at its end.
  std::string_view variable;
  std::string_view below = {};
};

/// A command, ready to be run.
struct AgentCommand {
  std::vector<std::string> words;  // the program and its arguments
  std::string variable;            // of the environment, to be set to `value`; "" for none
  std::string value;
};

/// The facts about a session for the agent's command.
struct ResumeRequest {
  const LogPlace& place;
  std::string_view id;  // the agent's own
  bool is_child = false;
  /// The user named the store: the agent may not find it without help.
  bool is_named = false;
};

/// Errors: unsupported if the agent has no such command, or none that can name this session; corrupt for an id that
/// would be read as an option.
Result<AgentCommand> resume_command(const SessionStore& store, const Format& format, const ResumeRequest& request);

}  // namespace arborfs
