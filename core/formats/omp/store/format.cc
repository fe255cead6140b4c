#include "core/formats/omp/store/format.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <utility>

#include "core/base/clock.h"
#include "core/entry/text.h"
#include "core/formats/omp/context/renderer.h"
#include "core/formats/omp/log/reader.h"
#include "core/formats/omp/store/agent_dir.h"
#include "core/formats/omp/store/history.h"
#include "core/formats/omp/store/log_change.h"
#include "core/formats/omp/store/store.h"
#include "core/json/date.h"
#include "core/os/environment.h"
#include "core/os/processes.h"
#include "core/session/liveness.h"
#include "core/session/store_state.h"
#include "core/store/format.h"
#include "core/store/store_parts.h"

namespace arborfs::omp {

namespace {

constexpr std::size_t kProgramShown = 40;
constexpr std::size_t kLongestLeaseName = 128;
constexpr std::int64_t kServersRememberNs = std::chrono::nanoseconds(std::chrono::hours(24)).count();

/// The file names of agents' databases.
constexpr std::array<const char*, 3> kAgentDatabases = {"agent.db", "history.db", "models.db"};
/// What the environment of an agent says about terminals and agent folders.
constexpr std::array<std::string_view, 13> kVariables = {
    "PI_CODING_AGENT_DIR", "PI_CONFIG_DIR",   "HOME",
    "XDG_STATE_HOME",      "ZELLIJ_PANE_ID",  "ZELLIJ_SESSION_NAME",
    "TMUX_PANE",           "CMUX_SURFACE_ID", "KITTY_WINDOW_ID",
    "WEZTERM_PANE",        "TERM_SESSION_ID", "WT_SESSION",
    "XDG_DATA_HOME"};

/// A process of this user that runs an agent (CONTRACT.md 5.2). It is recognised by its name (omp, omp-*, pi), by the
/// script that bun or node runs, or by an agent's database that it has open.
struct AgentProcess {
  RunningProgram program;
  ProgramFacts facts;
  std::string shown;                   // its name, for messages
  std::vector<std::string> databases;  // the folders of agents' databases that it has open
  bool has_agent_name = false;         // if false, it is an agent only if `databases` belong to one
};

bool is_agent_name(std::string_view file) {
  const std::string_view name = proc::program_name(file);
  return name == "omp" || name.starts_with("omp-") || name == "pi";
}

/// The agent's name if the script is `omp` or `pi`, with or without an extension, or in `pi-coding-agent/`; else "".
std::string agent_of_script(const std::string& path) {
  const std::string_view name = proc::last_component(path);
  const std::string_view stem = name.substr(0, name.find('.'));
  if (stem == "omp" || stem == "pi") {
    return std::string(stem);
  }
  return ("/" + path).find("/pi-coding-agent/") != std::string::npos ? "pi-coding-agent" : "";
}

std::vector<std::string> databases_of(long pid) {
  std::vector<std::string> folders;
  const auto descriptors = Dir::open_root("/proc/" + std::to_string(pid) + "/fd");
  const auto entries = descriptors ? descriptors->list() : Result<std::vector<DirEntry>>(descriptors.error());
  for (const auto& entry : entries ? *entries : std::vector<DirEntry>()) {
    const std::string path = proc::link_target(descriptors->fd(), entry.name);
    const std::string_view name = proc::last_component(path);
    if (std::find(kAgentDatabases.begin(), kAgentDatabases.end(), name) == kAgentDatabases.end()) {
      continue;
    }
    std::string folder = path.substr(0, path.size() - name.size() - 1);
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) {
      folders.push_back(std::move(folder));
    }
  }
  return folders;
}

/// The agents' databases that programs have open. What their descriptors said is remembered: for kRemembered, or until
/// the next look for programs if a program is younger than kYoung.
class OpenDatabases {
 public:
  /// The folders of those that `program` has open. `all`: look also at programs that have no agent's name.
  std::vector<std::string> of(const RunningProgram& program, bool is_named, bool all) {
    const auto now = Clock::now();
    const std::lock_guard lock(mutex_);
    Seen& seen = seen_[program.pid];
    if (seen.since != program.since) {
      seen = {program.since, {}, {}};
    }
    const auto remembered = now - program.since < kYoung ? kProgramsRecheckedAfter : kRemembered;
    const bool is_due = now - seen.read >= remembered || (program.is_interpreter && seen.folders.empty());
    const bool may_be_agent = all && program.executable != "arborfs";  // it has a history open now and then
    if (is_named ? seen.folders.empty() : may_be_agent && is_due) {
      seen.folders = databases_of(program.pid);
      seen.read = now;
    }
    return seen.folders;
  }
  /// Forgets the programs that run no longer, once they are most. `running` is in the order of their numbers.
  void keep_only(const std::vector<RunningProgram>& running) {
    const std::lock_guard lock(mutex_);
    if (seen_.size() <= 2 * running.size()) {
      return;
    }
    std::erase_if(seen_, [&](const auto& seen) {
      const auto at = std::lower_bound(running.begin(), running.end(), seen.first,
                                       [](const RunningProgram& program, long pid) { return program.pid < pid; });
      return at == running.end() || at->pid != seen.first;
    });
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kYoung = std::chrono::seconds(2);
  static constexpr std::chrono::milliseconds kRemembered{10'000};
  struct Seen {
    Clock::time_point since{};
    Clock::time_point read{};  // never
    std::vector<std::string> folders{};
  };
  std::mutex mutex_;           // a leaf
  std::map<long, Seen> seen_;  // guarded by mutex_
};

/// The agents that run, by a look that began at most `max_age` ago. With `databases_in_use`, also the programs that
/// have an agent's database open.
std::vector<AgentProcess> find_agents(std::chrono::milliseconds max_age, bool databases_in_use) {
  static OpenDatabases databases;
  const ProgramList running = running_programs(max_age);
  std::vector<AgentProcess> found;
  for (const RunningProgram& program : *running) {
    const bool has_name = is_agent_name(program.name) || is_agent_name(program.executable);
    const std::string script = has_name ? "" : agent_of_script(program.script);
    auto folders = databases.of(program, has_name, databases_in_use);
    if (!has_name && script.empty() && folders.empty()) {
      continue;
    }
    if (auto facts = look_at(program, kVariables)) {
      const bool is_named_by_file = has_name && !is_agent_name(program.name);
      std::string shown = is_named_by_file ? program.executable
                          : script.empty() ? program.name
                                           : script + " under " + program.executable;
      found.push_back({program, *std::move(facts), std::move(shown), std::move(folders), has_name || !script.empty()});
    }
  }
  databases.keep_only(*running);
  return found;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, std::max(slash, std::size_t{1}));
}

using Environment = std::map<std::string, std::string>;

std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

/// The folders in which an agent of this store keeps its files, in all likely spellings.
std::vector<std::string> folders_of(const arborfs::Store& store) {
  const StorePaths& paths = store.paths();
  std::vector<std::string> folders = {paths.agent_dir, parent_of(paths.sessions), parent_of(paths.terminals)};
  for (const std::string& spelled : default_agent_dirs()) {
    std::error_code failed;
    if (std::filesystem::weakly_canonical(spelled, failed) == paths.agent_dir) {
      folders.push_back(normal_path(spelled));
    }
  }
  return folders;
}

/// True if a program may have a database of this store's agents open. This process counts too if it has a history open,
/// whose locks the look would drop.
bool has_databases_in_use(const arborfs::Store& store) {
  const std::unique_lock gate(history_gate(), std::try_to_lock);
  if (!gate) {
    return true;
  }
  const StorePaths& paths = store.paths();
  std::vector<std::string> folders = {paths.agent_dir, parent_of(paths.sessions), parent_of(paths.terminals)};
  std::sort(folders.begin(), folders.end());
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  for (const std::string& path : folders) {
    const auto folder = Dir::open_root(path);
    for (const char* const name : kAgentDatabases) {
      const auto file = folder ? File::open_in(*folder, name) : Result<File>(folder.error());
      if (file && !is_surely_not_open_for_writing(*file)) {
        return true;
      }
    }
  }
  return false;
}

/// Where an agent with this environment keeps its files, unless its open files say otherwise.
std::vector<std::string> spelled_agent_dirs(const AgentProcess& agent) {
  if (const std::string chosen = value_of(agent.facts.environment, "PI_CODING_AGENT_DIR"); !chosen.empty()) {
    return {normal_path((std::filesystem::path(agent.facts.cwd) / chosen).string())};
  }
  const std::string home = value_of(agent.facts.environment, "HOME");
  if (home.empty()) {
    return {};
  }
  std::vector<std::string> folders = {normal_path(home + "/.omp/agent"), normal_path(home + "/.pi/agent")};
  if (const std::string config = value_of(agent.facts.environment, "PI_CONFIG_DIR"); !config.empty()) {
    folders.push_back(normal_path(home + "/" + config + "/agent"));
  }
  return folders;
}

/// Also true if the agent's folder is unknown. Any pi may keep its logs in a session dir: neither its environment nor
/// its command line, which it overwrites, shows whether it does (pi/FORMAT.md A2, D4).
bool is_of_store(const AgentProcess& agent, const StorePaths& paths, const std::vector<std::string>& folders) {
  if (paths.sessions.empty()) {  // sessions in the memory of this process
    return false;
  }
  if (is_session_dir(paths)) {
    return agent.databases.empty();
  }
  const auto& kept = agent.databases.empty() ? spelled_agent_dirs(agent) : agent.databases;
  return kept.empty() || std::any_of(kept.begin(), kept.end(), [&](const std::string& one) {
           return std::find(folders.begin(), folders.end(), one) != folders.end();
         });
}

/// The agents' names for the terminal (omp/FORMAT.md F9), the preferred one first.
std::vector<std::string> terminals_of(const AgentProcess& agent) {
  constexpr std::string_view kDevices = "/dev/";
  if (!agent.facts.terminal.empty()) {
    std::string name = agent.facts.terminal.substr(kDevices.size());
    std::replace(name.begin(), name.end(), '/', '-');
    return {name};
  }
  constexpr std::array<std::pair<const char*, const char*>, 6> kTerminalVariables = {{{"TMUX_PANE", "tmux-"},
                                                                                      {"CMUX_SURFACE_ID", "cmux-"},
                                                                                      {"KITTY_WINDOW_ID", "kitty-"},
                                                                                      {"WEZTERM_PANE", "wezterm-"},
                                                                                      {"TERM_SESSION_ID", "apple-"},
                                                                                      {"WT_SESSION", "wt-"}}};
  std::vector<std::string> names;
  if (const std::string pane = value_of(agent.facts.environment, "ZELLIJ_PANE_ID"); !pane.empty()) {
    std::string session = value_of(agent.facts.environment, "ZELLIJ_SESSION_NAME");
    std::replace_if(
        session.begin(), session.end(), [](char c) { return c == '/' || c == '\\'; }, '-');
    names.push_back(session.empty() ? "zellij-" + pane : "zellij-" + session + "-" + pane);
  }
  for (const auto& [variable, prefix] : kTerminalVariables) {
    if (const std::string value = value_of(agent.facts.environment, variable); !value.empty()) {
      names.push_back(prefix + value);
    }
  }
  return names;
}

/// True if it serves requests instead of a user at a terminal; it may load any session on request.
bool is_server(const AgentProcess& agent) {
  constexpr std::array<std::string_view, 3> kModes = {"acp", "rpc", "rpc-ui"};
  const auto is_mode = [&](std::string_view word) {
    return std::find(kModes.begin(), kModes.end(), word) != kModes.end();
  };
  const auto& words = agent.facts.arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool asks_for_mode = (words[i] == "--mode" && i + 1 < words.size() && is_mode(words[i + 1])) ||
                               (words[i].starts_with("--mode=") && is_mode(words[i].substr(7)));
    if (asks_for_mode) {
      return agent.facts.terminal.empty();
    }
  }
  return agent.facts.terminal.empty() && !words.empty() && words.front() == "acp";
}

struct SessionNames {
  std::string id;
  LogPlace place;
  std::string path;
};

bool is_prefix_ignoring_case(std::string_view prefix, std::string_view text) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return !prefix.empty() && prefix.size() <= text.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(), [&](char a, char b) { return lower(a) == lower(b); });
}

/// True if an argument is the session's id, its log, or the prefix of an id to resume.
bool name_session(const std::vector<std::string>& arguments, const SessionNames& session, bool of_store) {
  constexpr std::array<std::string_view, 3> kResume = {"-r", "--resume", "--session"};
  std::string_view flag;
  for (const std::string& argument : arguments) {
    std::string_view value = argument;
    if (const std::size_t equals = value.find('='); value.starts_with("--") && equals != std::string_view::npos) {
      flag = value.substr(0, equals);
      value.remove_prefix(equals + 1);
    }
    const bool is_resumed =
        std::find(kResume.begin(), kResume.end(), flag) != kResume.end() && is_prefix_ignoring_case(value, session.id);
    const bool is_named = value == session.id || value == session.place.stem() || is_resumed ||
                          value.substr(value.rfind('/') + 1) == session.place.file;
    if (of_store ? is_named && !value.empty() : value == session.path) {
      return true;
    }
    flag = argument;
  }
  return false;
}

bool is_lease_name(std::string_view id) {
  return !id.empty() && id.size() <= kLongestLeaseName && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

/// Adds the folders of leases that an agent with this environment uses.
void add_lease_folders(const std::string& home, const std::string& config, const std::string& state,
                       std::vector<std::string>& folders) {
  const auto add = [&](const std::string& root) {
    const std::string folder = root + "/run/session-owners/";
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) {
      folders.push_back(folder);
    }
  };
  if (!home.empty()) {
    add(home + "/" + (config.empty() ? ".omp" : config));
  }
  if (!state.empty()) {
    add(state + "/omp");
  }
}

/// The facts of a session that the rule needs.
struct Asked {
  SessionNames names;
  std::string cwd;
  std::optional<std::int64_t> created_ms;
  std::int64_t changed_ns = 0;             // by any program
  std::optional<std::int64_t> written_ns;  // by any program except arborfs; nothing: never
};

struct Agent {
  AgentProcess process;
  bool of_store = true;
  bool serves = false;
  std::vector<std::string> terminals{};
  std::optional<Breadcrumb> holds{};  // from its own breadcrumb: the session it holds is known
  [[nodiscard]] std::string name() const {
    return visible_line(process.shown, kProgramShown) + " (process " + std::to_string(process.program.pid) + ")";
  }
  [[nodiscard]] std::string hold_on(const Asked& session) const;
  [[nodiscard]] bool is_newer_than(const Agent& other) const {
    return std::pair(process.facts.started_ns, process.program.pid) >
           std::pair(other.process.facts.started_ns, other.process.program.pid);
  }
};

class ProcessLook final : public AgentLook {
 public:
  ProcessLook(const arborfs::Store& store, std::vector<AgentProcess> processes);

  [[nodiscard]] bool is_empty() const override;
  [[nodiscard]] std::vector<std::string> reasons(const Session& session, const FileStat& now,
                                                 const WriteMarks& marks) const override;
  [[nodiscard]] std::vector<std::string> proofs(const Session& session) const override;

 private:
  void read_breadcrumbs();
  const arborfs::Store& store_;
  std::vector<Agent> agents_;
  std::vector<std::string> lease_folders_;
  const GateProbe gates_;
};

ProcessLook::ProcessLook(const arborfs::Store& store, std::vector<AgentProcess> processes) : store_(store) {
  add_lease_folders(environment_variable("HOME"), environment_variable("PI_CONFIG_DIR"),
                    environment_variable("XDG_STATE_HOME"), lease_folders_);
  const auto folders = processes.empty() ? std::vector<std::string>() : folders_of(store);
  for (AgentProcess& process : processes) {
    Agent agent{.process = std::move(process)};
    agent.of_store = is_of_store(agent.process, store.paths(), folders);
    if (!agent.of_store && !agent.process.has_agent_name) {
      continue;  // another program that has a file open with the name of an agent's database
    }
    agent.serves = is_server(agent.process);
    agent.terminals = terminals_of(agent.process);
    const Environment& environment = agent.process.facts.environment;
    add_lease_folders(value_of(environment, "HOME"), value_of(environment, "PI_CONFIG_DIR"),
                      value_of(environment, "XDG_STATE_HOME"), lease_folders_);
    agents_.push_back(std::move(agent));
  }
  read_breadcrumbs();
}

/// A breadcrumb belongs to the newest agent on its terminal, if it was written after that agent started.
void ProcessLook::read_breadcrumbs() {
  const auto is_on_terminal = [](const Agent& agent) { return agent.of_store && !agent.terminals.empty(); };
  const auto folder = std::any_of(agents_.begin(), agents_.end(), is_on_terminal)
                          ? Dir::open_root(store_.paths().terminals)
                          : Result<Dir>(Errc::not_found, "");
  for (const Breadcrumb& crumb : folder ? breadcrumbs_of(store_) : std::vector<Breadcrumb>()) {
    Agent* newest = nullptr;
    for (Agent& agent : agents_) {
      const auto& names = agent.terminals;
      const bool is_there = agent.of_store && std::find(names.begin(), names.end(), crumb.terminal) != names.end();
      if (is_there && (newest == nullptr || agent.is_newer_than(*newest))) {
        newest = &agent;
      }
    }
    const auto st = newest != nullptr ? folder->stat(crumb.terminal) : Result<FileStat>(Errc::not_found, "");
    if (!st || st->mtime_ns < newest->process.facts.started_ns) {
      continue;
    }
    const auto rank = [&](const std::string& name) {
      return std::find(newest->terminals.begin(), newest->terminals.end(), name);
    };
    if (!newest->holds || rank(crumb.terminal) < rank(newest->holds->terminal)) {
      newest->holds = crumb;
    }
  }
}

bool ProcessLook::is_empty() const {
  return std::none_of(agents_.begin(), agents_.end(), [](const Agent& agent) { return agent.of_store; });
}

/// Why it may hold the session, in words to follow its name; "" if it does not.
std::string Agent::hold_on(const Asked& session) const {
  if (of_store && holds && holds->place.has_names_of(session.names.place)) {
    return " has it open on terminal " + visible_line(holds->terminal, kProgramShown);
  }
  if (name_session(process.facts.arguments, session.names, of_store)) {
    return " was started with it";
  }
  if (!of_store) {
    return "";
  }
  const bool is_of_cwd =
      !session.cwd.empty() && (process.facts.cwd == session.cwd || (holds && holds->cwd == session.cwd));
  const bool is_created_since = !session.created_ms || *session.created_ms >= process.facts.started_ns / 1'000'000;
  if (session.written_ns && is_of_cwd && (!holds || is_created_since)) {
    return std::string(" runs in its working directory") + (holds ? " and may have created it" : "");
  }
  if (session.written_ns && !holds && *session.written_ns >= process.facts.started_ns) {
    return " was running when it was written last";
  }
  return serves && session.changed_ns >= now_ns() - kServersRememberNs ? " is a server that may have loaded it" : "";
}

std::vector<std::string> ProcessLook::reasons(const Session& session, const FileStat& now,
                                              const WriteMarks& marks) const {
  std::vector<std::string> found;
  if (agents_.empty()) {
    return found;
  }
  const Header header = session.head().header;
  Asked asked{{header.id, session.place(), ""}, header.cwd, json::parse_date(header.timestamp), now.mtime_ns, {}};
  LogPlace& place = asked.names.place;
  asked.names.id = header.id.empty() ? std::string(place.id_in_name()) : header.id;
  asked.names.path = store_.path_of(place);
  asked.written_ns = marks.written_by_others(place.file, now);
  for (const Agent& agent : agents_) {
    if (const std::string hold = agent.hold_on(asked); !hold.empty()) {
      found.push_back(agent.name() + hold);
    }
  }
  return found;
}

std::vector<std::string> ProcessLook::proofs(const Session& session) const {
  const std::string id = session.identity().id;
  const bool is_leased = is_lease_name(id) &&
                         std::any_of(lease_folders_.begin(), lease_folders_.end(),
                                     [&](const std::string& folder) { return gates_.is_held(folder + id + ".lock"); });
  return is_leased ? std::vector<std::string>{"an agent holds the lease on it"} : std::vector<std::string>();
}

class ProcessFinder final : public AgentFinder {
 public:
  [[nodiscard]] std::unique_ptr<AgentLook> look(const arborfs::Store& store,
                                                std::chrono::milliseconds max_age) const override {
    return std::make_unique<ProcessLook>(store, find_agents(max_age, has_databases_in_use(store)));
  }
};

/// The running agents of omp and pi, and the sessions that they may hold (omp/FORMAT.md F9, L1).
const AgentFinder& process_finder() {
  static const ProcessFinder finder;
  return finder;
}

constexpr std::string_view kVerbs[] = {"append", "branch", "label", "fork", "new", "title", "move", "remove"};
/// That of omp (core/write/verbs.cc), but pi shortens no text.
constexpr std::string_view kAppendUsageOfPi =
    "Write to this file to append to the session:\n"
    "  text                                one user message, from open to close\n"
    "  {\"role\":\"toolResult\",...}           any message, as JSON\n"
    "  {\"type\":\"custom\",...}               any entry of pi, as JSON\n"
    "Several JSON objects, one per line and in one write, are appended together or not at all.\n"
    "Two members are options of the command and do not reach the log:\n"
    "  \"ifLeaf\":\"id\"                       fail with ESTALE unless this entry is the leaf\n"
    "  \"force\":true                        write even if an agent may have the session open\n"
    "arborfs sets id, parentId and timestamp of an entry; a message keeps its own timestamp.\n"
    "A text of any length, and images, are kept whole in the log, as pi does.\n"
    "After a write, the same descriptor returns {\"id\":...,\"parentId\":...}. After a failure, lastError in "
    "status.json\n"
    "has the reason; for incomplete JSON it is only there, because shells ignore the result of close.\n";
constexpr OwnUsage kUsagesOfPi[] = {{"append", kAppendUsageOfPi}};
/// As omp/FORMAT.md G11 says.
constexpr ResumeCommand kResumeOmp{
    .program = "omp", .option = "--resume", .takes_path = true, .variable = "PI_CODING_AGENT_DIR"};
/// As pi/FORMAT.md D4 says.
constexpr ResumeCommand kResumePi{
    .program = "pi", .option = "--session", .takes_path = true, .variable = "PI_CODING_AGENT_DIR"};

}  // namespace

namespace {

constexpr ToolShape kTools[] = {
    {"bash", ToolShape::Does::runs, "command", "cwd"},
    {"read", ToolShape::Does::reads, "path"},
    {.tool = "edit", .does = ToolShape::Does::edits, .subject = "path", .before = "oldText", .after = "newText"},
    {.tool = "edit",
     .does = ToolShape::Does::edits,
     .subject = "path",
     .before = "old_string",
     .after = "new_string",
     .all = "replace_all"},
    {.tool = "edit",
     .does = ToolShape::Does::edits,
     .subject = "path",
     .list = "edits",
     .before = "oldText",
     .after = "newText"},
    {"edit", ToolShape::Does::edits, "path"},
    {"edit", ToolShape::Does::patches, "input"},
    {.tool = "write", .does = ToolShape::Does::writes, .subject = "path", .after = "content"}};
constexpr ResultShape kToldByResults[] = {
    {.object = "message.details", .path = "path", .before = "oldText", .after = "newText", .numbered = "diff"},
    {.object = "message.details",
     .files = "perFileResults",
     .path = "path",
     .before = "oldText",
     .after = "newText",
     .numbered = "diff"}};

}  // namespace

const Format& format() {
  static const Format format{.agent = "omp",
                             .name = "omp-jsonl",
                             .reader = &omp::reader(),
                             .renderer = &renderer(),
                             .verbs = kVerbs,
                             .is_plain = true,
                             .agents = &process_finder(),
                             .resume = &kResumeOmp,
                             .pairing = {.calls = true, .results = true},
                             .tools = kTools,
                             .results = kToldByResults};
  return format;
}

const Format& pi_format() {
  static const Format format{.agent = "pi",
                             .name = "pi-jsonl",
                             .reader = &omp::reader(),
                             .renderer = &renderer(),
                             .verbs = kVerbs,
                             .is_plain = true,
                             .agents = &process_finder(),
                             .resume = &kResumePi,
                             .usages = kUsagesOfPi,
                             .pairing = {.calls = true},
                             .tools = kTools,
                             .results = kToldByResults};
  return format;
}

}  // namespace arborfs::omp
