// Describes the sessions of one agent to arborfs: its name, and the parts that read and render its records. One
// constant object per format; a store (store.h) says which format its sessions have. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/store/tool_shape.h"

namespace arborfs {

class AgentFinder;     // core/session/liveness.h
class LogReader;       // core/log/log_reader.h
class RecordRenderer;  // core/entry/record_renderer.h
class Store;           // core/store/store.h
struct Header;         // core/log/log_index.h
struct LogPlace;       // core/store/store.h
struct TurnPart;       // core/entry/turn.h

/// How the programs of an agent are recognised, and how their processes show what they use. Constant data of a format.
struct AgentPrograms {
  /// Names of the process, of its executable, or of the script that an interpreter runs, up to the first dot.
  std::span<const std::string_view> names;
  /// A script in a folder of this name is the agent's too; "" for none.
  std::string_view package;
  /// A process of this name is the agent's if a component of a path in its arguments begins with one of `names`.
  std::string_view runtime = {};
  /// The folder with the agent's state: the value of the variable followed by `below`; if the variable is not set or
  /// empty, `home` below the home folder. Programs with another folder hold no sessions of the store.
  std::string_view variable;
  std::string_view below = {};
  std::string_view home;
  /// A program with this argument is a service of the agent that stays behind: it holds only the sessions that its own
  /// signs (LiveSigns) name; "" for none.
  std::string_view service = {};
  /// True if its sessions are independent of its working directory: it may hold any session that was written since it
  /// started.
  bool is_server = false;
};

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

/// The text that a read of a verb's control file returns, where the common text (core/write/verbs.cc) does not
/// apply.
struct OwnUsage {
  std::string_view verb;
  std::string_view text;  // its first line is that of the common text
};

/// What an agent itself puts right before it sends a conversation whose calls of tools and results do not pair, which
/// models refuse. Constant data of a format.
struct OwnPairing {
  bool calls = false;       // without a result
  bool last_calls = false;  // the same, at the end alone
  bool results = false;     // without a call
};

struct Format {
  std::string_view agent;          // as users spell it in --store and -a: "omp", "opal"
  std::string_view name;           // of the files, for session.json: "omp-jsonl"
  const LogReader* reader;         // never null
  const RecordRenderer* renderer;  // never null
  /// The verbs that its sessions take: names of core/write/verbs.h, `remove` and `move`. Empty: arborfs changes no
  /// session of this format.
  std::span<const std::string_view> verbs = {};
  /// Why arborfs changes no session of this format, or at most removes it, where that is not so for all sessions of the
  /// agent.
  std::string_view why_only_read = {};
  /// True for the agents whose sessions are shown without the agent's name, and whose header is session.json itself.
  bool is_plain = false;
  /// Null: running agents are recognised by `programs` and HasLiveSigns (store_parts.h).
  const AgentFinder* agents = nullptr;
  /// True if removing a session also removes the sessions whose Header::started_by is its id.
  bool removes_children = false;
  const AgentPrograms* programs = nullptr;  // null: the agent's programs cannot be distinguished from others
  /// The settings with which the agent starts a session, as the JSON of startup.json (CONTRACT.md 2.12). It reads the
  /// agent's settings. Null: there is no such file.
  std::string (*startup_json)(const Store& store, const Header& header) = nullptr;
  const ResumeCommand* resume = nullptr;  // null: no program of the agent can resume a given session
  std::span<const OwnUsage> usages = {};
  OwnPairing pairing = {};
  std::span<const ToolShape> tools = {};      // what its own tools do to files, and what they run
  std::span<const ResultShape> results = {};  // where their results tell more of files
  /// The JSON that `append` takes for the output of a call; null if such an output behind the call would not be sent as
  /// its result.
  std::string (*output_json)(const TurnPart& call, std::string_view output) = nullptr;
  bool queues_messages = false;  // `append` takes {"queue":...}: a message that the agent itself runs next
  bool takes_notes = false;      // `append` takes {"note":...}: words for the model that are no message
  bool has_cwd = true;           // false: its sessions do not record a working directory
  /// True if a change can be read only some milliseconds after its event. SQLite writes a commit to the -wal, which
  /// causes an event, and only then to the shared memory, which causes none.
  bool changes_show_late = false;

  [[nodiscard]] bool is_writable() const { return !verbs.empty(); }
  [[nodiscard]] bool takes(std::string_view verb) const;
};

/// The refusal of a write to a session of this format.
Error only_reads(const Format& format);
/// Errors: only_reads() if arborfs changes no session of this format.
Result<void> check_writable(const Format& format);
/// The refusal of a verb that sessions of this format do not support: that of only_reads() if they support none or the
/// format says why, else not_permitted.
Error does_not_take(const Format& format, std::string_view verb);
/// Errors: does_not_take(), of a verb that sessions of this format do not support.
Result<void> check_takes(const Format& format, std::string_view verb);

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
Result<AgentCommand> resume_command(const Store& store, const Format& format, const ResumeRequest& request);

}  // namespace arborfs
