#include "core/session/liveness.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/entry/text.h"
#include "core/os/environment.h"
#include "core/os/processes.h"
#include "core/store/store_parts.h"

namespace arborfs {

namespace {

constexpr std::size_t kProgramShown = 40;
constexpr std::string_view kHome = "HOME";

struct Agent {
  RunningProgram program;
  ProgramFacts facts;
  [[nodiscard]] std::string name() const {
    return visible_line(program.script.empty() ? program.name : program.script, kProgramShown) + " (process " +
           std::to_string(program.pid) + ")";
  }
};

bool is_name(const AgentPrograms& programs, std::string_view file) {
  const std::string_view name = proc::program_name(file);
  return std::find(programs.names.begin(), programs.names.end(), name) != programs.names.end();
}

bool is_script(const AgentPrograms& programs, const std::string& path) {
  const std::string_view file = std::string_view(path).substr(path.rfind('/') + 1);
  const std::string folder = "/" + std::string(programs.package) + "/";
  return !path.empty() && (is_name(programs, file.substr(0, file.find('.'))) ||
                           (!programs.package.empty() && ("/" + path).find(folder) != std::string::npos));
}

/// True if its runtime may run any program, so that only its arguments identify it.
bool is_runtime(const AgentPrograms& programs, const RunningProgram& program) {
  return !programs.runtime.empty() && (program.name == programs.runtime || program.executable == programs.runtime);
}

bool is_named(const AgentPrograms& programs, const RunningProgram& program) {
  return is_name(programs, program.name) || is_name(programs, program.executable) ||
         is_script(programs, program.script);
}

bool name_program(const std::vector<std::string>& arguments, const AgentPrograms& programs) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return std::any_of(programs.names.begin(), programs.names.end(), [&](std::string_view name) {
      return argument.find("/" + std::string(name)) != std::string::npos;
    });
  });
}

template <class Value>
std::string folder_in(const AgentPrograms& programs, const Value& value) {
  if (const std::string chosen = value(programs.variable); !chosen.empty()) {
    return chosen + std::string(programs.below);
  }
  const std::string home = value(kHome);
  return home.empty() ? "" : home + std::string(programs.home);
}

/// The spellings of the store's folder that this process knows. Nothing else on a disk is accessed.
std::vector<std::string> folders_of(const Store& store, const AgentPrograms& programs) {
  std::vector<std::string> folders = {store.paths().agent_dir};
  const std::string own =
      folder_in(programs, [](std::string_view name) { return environment_variable(std::string(name).c_str()); });
  if (!own.empty() && resolved_path(own) == store.paths().agent_dir) {
    folders.push_back(normal_path(own));
  }
  return folders;
}

/// Also true if the program's folder is unknown.
bool is_of_store(const AgentPrograms& programs, const ProgramFacts& facts, const std::vector<std::string>& folders) {
  const std::string folder = folder_in(programs, [&](std::string_view name) {
    const auto found = facts.environment.find(std::string(name));
    return found == facts.environment.end() ? "" : found->second;
  });
  return folder.empty() ||
         std::find(folders.begin(), folders.end(), normal_path((std::filesystem::path(facts.cwd) / folder).string())) !=
             folders.end();
}

bool is_service(const AgentPrograms& programs, const std::vector<std::string>& arguments) {
  return !programs.service.empty() &&
         std::find(arguments.begin(), arguments.end(), programs.service) != arguments.end();
}

std::vector<Agent> find_agents(const Store& store, const AgentPrograms& programs, std::chrono::milliseconds max_age) {
  std::vector<Agent> found;
  std::vector<std::string> folders;
  const std::string_view variables[] = {kHome, programs.variable};
  const auto running = running_programs(max_age);
  for (const RunningProgram& program : *running) {
    const bool is_sure = is_named(programs, program);
    if (!is_sure && !is_runtime(programs, program)) {
      continue;
    }
    auto facts = look_at(program, variables);
    if (!facts || !(is_sure || name_program(facts->arguments, programs))) {
      continue;
    }
    folders = folders.empty() ? folders_of(store, programs) : std::move(folders);
    if (is_of_store(programs, *facts, folders) && !is_service(programs, facts->arguments)) {
      found.push_back({program, *std::move(facts)});
    }
  }
  return found;
}

/// True if an argument is the session's id, alone or as the value of an option, or leads to its file.
bool name_session(const std::vector<std::string>& arguments, std::string_view id, const std::string& path) {
  return std::any_of(arguments.begin(), arguments.end(), [&](std::string_view argument) {
    if (argument.starts_with("--") && argument.find('=') != std::string_view::npos) {
      argument.remove_prefix(argument.find('=') + 1);
    }
    return !argument.empty() && (argument == id || argument == path);
  });
}

/// Of a format that defines how its programs are recognised (Format::programs) and which signs they leave
/// (HasLiveSigns). See CONTRACT.md 5.6.
class ProgramLook final : public AgentLook {
 public:
  ProgramLook(const Store& store, std::chrono::milliseconds max_age)
      : store_(store), programs_(store.format().programs) {
    if (programs_ != nullptr) {
      agents_ = find_agents(store, *programs_, max_age);
    }
    const auto* const signs = part_of<HasLiveSigns>(store);
    signs_ = signs != nullptr ? signs->live_signs(!agents_.empty()) : nullptr;
  }

  [[nodiscard]] bool is_empty() const override { return agents_.empty(); }

  [[nodiscard]] std::vector<std::string> reasons(const Session& session, const FileStat& now,
                                                 const WriteMarks& marks) const override {
    std::vector<std::string> found;
    if (agents_.empty()) {
      return found;
    }
    const Header header = session.head().header;
    const LogPlace place = session.place();
    const std::string id = header.id.empty() ? std::string(place.stem()) : header.id;
    const std::string path = store_.path_of(place);
    for (const Agent& agent : agents_) {
      if (signs_ && signs_->tell_all_of(agent.program.pid)) {
        continue;
      }
      if (name_session(agent.facts.arguments, id, path)) {
        found.push_back(agent.name() + " was started with it");
      } else if (programs_->is_server) {
        const auto written = marks.written_by_others(place.file, now);
        if (written && *written >= agent.facts.started_ns) {
          found.push_back(agent.name() + " was running when it was written last");
        }
      } else if (!header.cwd.empty() && agent.facts.cwd == header.cwd) {
        found.push_back(agent.name() + " runs in its working directory");
      }
    }
    return found;
  }

  [[nodiscard]] std::vector<std::string> proofs(const Session& session) const override {
    return signs_ ? signs_->of(session.place()) : std::vector<std::string>();
  }

  [[nodiscard]] std::vector<std::string> proofs_under_lock(const Session& session) const override {
    return signs_ ? signs_->under_lock(session.place()) : std::vector<std::string>();
  }

 private:
  const Store& store_;
  const AgentPrograms* const programs_;
  std::vector<Agent> agents_;
  std::unique_ptr<const LiveSigns> signs_;
};

std::unique_ptr<AgentLook> look(const Store& store, std::chrono::milliseconds max_age) {
  const AgentFinder* const finder = store.format().agents;
  return finder == nullptr ? std::make_unique<ProgramLook>(store, max_age) : finder->look(store, max_age);
}

}  // namespace

bool reads_write_marks(const Format& format) {
  return format.agents != nullptr || (format.programs != nullptr && format.programs->is_server);
}

std::unique_ptr<AgentLook> AgentLook::now(const Store& store) {
  return look(store, std::chrono::milliseconds(0));
}

std::unique_ptr<AgentLook> AgentLook::recent(const Store& store) {
  return look(store, std::chrono::seconds(1));
}

namespace {

/// How long a log must be open or locked. A session that was live recently needs no second check.
std::chrono::milliseconds one_write(const Session& session) {
  return session.was_live_lately() ? std::chrono::milliseconds(0) : kLongestWrite;
}

void look_at_file(const Session& session, const Dir& folder, Liveness& found) {
  const auto file = session.store().open_file(folder, session.place());
  if (file && is_open_for_writing(*file, one_write(session))) {
    found.state = Liveness::State::live;
    found.reasons.emplace_back("another process has the log open for writing");
  }
}

void look_at_lock_file(const Session& session, const Dir& folder, Liveness& found) {
  const auto* const locks = part_of<HasLockFiles>(session.store());
  if (locks == nullptr) {
    return;
  }
  long owner = 0;
  const auto held_by_other = [&] {
    owner = locks->lock_holder(folder, session.place().file);
    return owner != ::getpid() && is_process_alive(owner);
  };
  if (is_lasting(held_by_other, one_write(session))) {
    found.state = Liveness::State::live;
    found.reasons.emplace_back("process " + std::to_string(owner) + " holds its lock file");
  }
}

void take_reasons(const Session& session, const FileStat& now, const Catalog& catalog, const AgentLook& look,
                  Liveness& found) {
  for (std::string& reason : look.reasons(session, now, catalog.state_of(session).marks)) {
    found.reasons.push_back(std::move(reason));
    found.state = std::max(found.state, Liveness::State::maybe);
  }
}

void take_proofs(const std::vector<std::string>& proofs, Liveness& found) {
  if (!proofs.empty()) {
    found.state = Liveness::State::live;
    found.reasons.insert(found.reasons.begin(), proofs.begin(), proofs.end());
  }
}

}  // namespace

Liveness check_liveness(const Session& session, const Catalog& catalog) {
  return check_liveness(session, catalog, *AgentLook::recent(session.store()));
}

Liveness check_liveness(const Session& session, const Catalog& catalog, const AgentLook& look) {
  Liveness found;
  const Store& store = session.store();
  const LogPlace place = session.place();
  const auto folder = store.folder(place);
  if (folder) {
    look_at_file(session, *folder, found);
    look_at_lock_file(session, *folder, found);
    if (found.state == Liveness::State::live) {
      session.note_live();
    }
  }
  const bool needs_stat = folder && !look.is_empty();  // else only the names in arguments count
  const auto now = needs_stat ? store.stat(place, &*folder) : Result<FileStat>(Errc::not_found, "");
  take_reasons(session, now ? *now : session.stat(), catalog, look, found);
  take_proofs(look.proofs(session), found);
  return found;
}

Liveness check_under_lock(const Session& session, const LogWriter& writer, const Catalog& catalog,
                          const AgentLook& look) {
  Liveness found;
  take_reasons(session, writer.stat(), catalog, look, found);
  take_proofs(look.proofs_under_lock(session), found);
  if (writer.is_open_elsewhere()) {
    take_proofs({"another process has the log open for writing"}, found);
  }
  return found;
}

std::string_view liveness_word(Liveness::State state) {
  switch (state) {
    case Liveness::State::live:
      return "live";
    case Liveness::State::maybe:
      return "maybe";
    case Liveness::State::quiet:
      break;
  }
  return "quiet";
}

std::string liveness_words(const Liveness& liveness) {
  std::string text = liveness.state == Liveness::State::live ? "the session is live: " : "the session may be live: ";
  for (const auto& reason : liveness.reasons) {
    text += (&reason == &liveness.reasons.front() ? "" : ", ") + reason;
  }
  return text;
}

}  // namespace arborfs
