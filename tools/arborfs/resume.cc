// arborfs resume: runs the agent of a session in the session's working directory.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/entry/text.h"
#include "core/json/utf8.h"
#include "core/os/state_dir.h"
#include "core/search/search.h"
#include "core/search/search_index.h"
#include "core/session/liveness.h"
#include "core/store/format.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/choice.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/programs.h"
#include "tools/arborfs/progress.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

// Lets the user at the terminal choose one session: with fzf and a preview of the transcript if it is installed, else
// from a numbered list.

constexpr std::size_t kNumbered = 20;

std::vector<std::string> cells_of(const Listed& of) {
  return {time_words(of.mtime_ns), std::string(of.session->agent()), of.project ? of.project->name : "",
          session_name(*of.session, kTitleCharacters)};
}

/// The command that fzf runs for the preview of a row; {1} is the id. Shows the end of the conversation, where it
/// continues.
std::string preview_command(const CommandLine& line) {
  std::error_code failed;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  std::string command = shell_quoted(self.empty() ? "arborfs" : self) + " text";
  for (const std::string& store : line.stores) {
    command += " --store " + shell_quoted(store);
  }
  if (!line.agent_dir.empty()) {
    command += " --agent-dir " + shell_quoted(line.agent_dir);
  }
  return command + " -- {1} | tail -n \"${FZF_PREVIEW_LINES:-40}\"";
}

Result<Listed> pick_with_fzf(const std::string& fzf, const CommandLine& line, const std::vector<Listed>& sessions) {
  std::string rows;
  for (const Listed& of : sessions) {
    rows += of.id;
    for (const std::string& cell : cells_of(of)) {
      rows += "\t" + cell;
    }
    rows += "\n";
  }
  ASSIGN_OR_RETURN(
      const std::string answer,
      run_filter(fzf,
                 {"fzf", "--no-multi", "--no-sort", "--layout=reverse", "--delimiter=\t", "--with-nth=2..",
                  "--prompt=resume> ", "--preview=" + preview_command(line), "--preview-window=right:50%:wrap"},
                 rows));
  const std::string id = answer.substr(0, answer.find('\t'));
  const auto found = std::find_if(sessions.begin(), sessions.end(), [&](const Listed& of) { return of.id == id; });
  if (found == sessions.end()) {
    return {Errc::interrupted, "nothing was chosen"};
  }
  return *found;
}

void print_numbered(const std::vector<Listed>& sessions, std::size_t shown, Terminal& io) {
  Table table({{"", true}, {"MODIFIED"}, {"AGENT"}, {"PROJECT", false, true}, {"TITLE", false, true}});
  for (std::size_t i = 0; i < shown; ++i) {
    auto cells = cells_of(sessions[i]);
    cells.insert(cells.begin(), std::to_string(i + 1));
    table.add(std::move(cells));
  }
  for (const std::string& row : table.lines(io.width)) {
    io.err << row << "\n";
  }
  if (shown < sessions.size()) {
    io.err << "and " << counted(sessions.size() - shown, "more session") << "; name one, or words of it\n";
  }
}

Result<Listed> pick_by_number(const std::vector<Listed>& sessions, Terminal& io) {
  const std::size_t shown = std::min(sessions.size(), kNumbered);
  print_numbered(sessions, shown, io);
  io.err << "resume which session? [1] " << std::flush;
  std::string answer;
  if (io.in == nullptr || !std::getline(*io.in, answer)) {
    io.err << "\n";
    return {Errc::interrupted, "nothing was chosen"};
  }
  for (std::size_t i = 0; i < shown; ++i) {
    if (answer == std::to_string(i + 1) || (answer.empty() && i == 0)) {
      return sessions[i];
    }
  }
  return {Errc::invalid_argument, "'" + visible_line(answer, 80) + "' is not a number in the list"};
}

/// True if there is a user to ask.
bool can_ask(const CommandLine& line, const Terminal& io) {
  return io.in_is_terminal && io.err_is_terminal && !line.json;
}

/// Asks the user to choose one of the sessions, of which there is at least one. Errors: interrupted if the user chooses
/// none; invalid_argument for an answer that is not a number in the list; io.
Result<Listed> pick(const CommandLine& line, const std::vector<Listed>& sessions, Terminal& io) {
  const std::string fzf = find_program(io, "fzf");
  return fzf.empty() ? pick_by_number(sessions, io) : pick_with_fzf(fzf, line, sessions);
}

constexpr std::size_t kShownCwd = 4096;
constexpr std::size_t kShownQuery = 80;

/// The sessions that the options choose, without those that others started.
Result<std::vector<Listed>> candidates(const CommandLine& line, const Catalog& catalog) {
  ASSIGN_OR_RETURN(auto sessions, chosen_sessions(line, catalog));
  std::erase_if(sessions, [](const Listed& of) { return !of.starter.empty(); });
  return sessions;
}

/// Those of the current folder first.
Result<Listed> pick_any(const CommandLine& line, const Catalog& catalog, Terminal& io) {
  ASSIGN_OR_RETURN(auto sessions, candidates(line, catalog));
  if (sessions.empty()) {
    return {Errc::not_found, "there are no sessions"};
  }
  std::error_code failed;
  const std::string here = std::filesystem::current_path(failed).string();
  std::stable_partition(sessions.begin(), sessions.end(),
                        [&](const Listed& of) { return of.session->head().header.cwd == here; });
  return pick(line, sessions, io);
}

/// The latest one of the chosen project, by default that of the current folder.
Result<Listed> latest(const CommandLine& line, const Catalog& catalog) {
  CommandLine here = line;
  here.project = line.project.empty() ? "." : line.project;
  RETURN_IF_ERROR(check_project(here.project));
  ASSIGN_OR_RETURN(auto sessions, candidates(here, catalog));
  if (sessions.empty()) {
    return {Errc::not_found, "there are only sessions that others started; name one"};
  }
  return std::move(sessions.front());
}

std::vector<Listed> with_title(const std::vector<Listed>& all, const std::string& query) {
  const std::string wanted = folded(query);
  std::vector<Listed> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found),
               [&](const Listed& of) { return folded(of.session->title()).find(wanted) != std::string::npos; });
  return found;
}

/// The sessions whose texts contain all words, best first.
Result<std::vector<Listed>> with_words(const std::vector<Listed>& all, const Catalog& catalog, const std::string& query,
                                       Terminal& io) {
  ASSIGN_OR_RETURN(const auto parsed, search::parse_query(query));
  RETURN_IF_ERROR(search::check_agent(catalog, parsed));
  const Progress progress(io, "searching");
  search::SearchIndex index(cache_path(""));
  search::Options options;
  options.index = &index;
  options.most_shown = 0;
  ASSIGN_OR_RETURN(const auto matching, search::search(catalog, parsed, options));
  std::vector<Listed> found;
  for (const search::Match& match : matching.matches) {
    const auto of =
        std::find_if(all.begin(), all.end(), [&](const Listed& one) { return one.session == match.shown->session(); });
    if (of != all.end()) {
      found.push_back(*of);
    }
  }
  return found;
}

/// The one session that a query finds, by its title if any has it, else by its texts.
Result<Listed> find_by_words(const CommandLine& line, const Catalog& catalog, Terminal& io) {
  const std::string query = line.query_text();
  ASSIGN_OR_RETURN(const auto all, candidates(line, catalog));
  auto found = with_title(all, query);
  if (found.empty()) {
    ASSIGN_OR_RETURN(found, with_words(all, catalog, query, io));
  }
  const std::string shown = "'" + visible_line(query, kShownQuery) + "'";
  if (found.empty()) {
    return {Errc::not_found,
            "no session has the id, the title or the words " + shown + "; 'arborfs ls' lists the sessions"};
  }
  if (found.size() == 1) {
    return std::move(found.front());
  }
  if (can_ask(line, io)) {
    return pick(line, found, io);
  }
  return {Errc::invalid_argument, "several sessions match " + shown + ":" + session_lines(std::move(found))};
}

Result<Listed> chosen_session(const CommandLine& line, const Catalog& catalog, Terminal& io) {
  if (line.query.empty()) {
    return can_ask(line, io) ? pick_any(line, catalog, io) : latest(line, catalog);
  }
  if (line.query == std::vector<std::string>{"."}) {
    return latest(line, catalog);
  }
  if (line.query.size() == 1) {
    const auto session = find_session(catalog, line.query.front());
    if (session) {
      return listed(catalog, *session);
    }
    if (session.error().code != Errc::not_found) {
      return session.error();
    }
  }
  return find_by_words(line, catalog, io);
}

void print_command(const Listed& of, const AgentCommand& command, const std::string& cwd, bool json, Terminal& io) {
  if (json) {
    auto words = JsonText::array();
    for (const std::string& word : command.words) {
      words.item(word);
    }
    auto variables = JsonText::object();
    if (!command.variable.empty()) {
      variables.add(command.variable, command.value);
    }
    auto all = JsonText::object().add("session", of.id).add("agent", of.session->agent()).add("cwd", cwd);
    all.add_json("environment", variables.str()).add_json("command", words.str());
    io.out << terminal_safe_json(all.str()) << "\n";
    return;
  }
  std::string text = cwd.empty() ? "" : "cd " + shell_quoted(cwd) + " && ";
  text += command.variable.empty() ? "" : command.variable + "=" + shell_quoted(command.value) + " ";
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    text += (i == 0 ? "" : " ") + shell_quoted(command.words[i]);
  }
  io.out << text << "\n";
}

Result<void> enter(const std::string& cwd) {
  if (cwd.empty() || ::chdir(cwd.c_str()) == 0) {
    return {};
  }
  const int reason = errno;
  const std::string shown = visible_line(cwd, kShownCwd);
  if (reason == ENOENT || reason == ENOTDIR) {
    return {Errc::not_found, "the session's working directory is gone: " + shown};
  }
  return error_from_errno(reason, "cannot enter the session's working directory " + shown);
}

/// Returns only if the agent does not run.
Error run_agent(const AgentCommand& command, const std::string& cwd, Terminal& io) {
  const std::string& name = command.words.front();
  const std::string program = find_program(io, name);
  if (program.empty()) {
    return {Errc::not_found, name + " is not installed: no folder of $PATH has a program of this name"};
  }
  RETURN_IF_ERROR(enter(cwd));
  if (!command.variable.empty()) {
    ::setenv(command.variable.c_str(), command.value.c_str(), 1);
  }
  io.out.flush();
  io.err.flush();
  return become(program, command.words);
}

/// Refuses what append refuses: two programs in one session overwrite each other's work.
Result<void> check_quiet(const Session& session, const Catalog& catalog) {
  const Liveness liveness = check_liveness(session, catalog, *AgentLook::now(session.store()));
  if (liveness.state == Liveness::State::quiet) {
    return {};
  }
  return {Errc::busy, liveness_words(liveness) + "; go on there or end that program, or give --force"};
}

Result<void> resume(const CommandLine& line, Terminal& io) {
  ASSIGN_OR_RETURN(const auto catalog, open_catalog(line, io));
  ASSIGN_OR_RETURN(const Listed of, chosen_session(line, *catalog, io));
  const auto header = of.session->head().header;
  const bool is_named = !line.stores.empty() || !line.agent_dir.empty();
  ASSIGN_OR_RETURN(const AgentCommand command,
                   resume_command(of.session->store(), of.session->format(),
                                  {of.session->place(), header.id, !of.starter.empty(), is_named}));
  if (line.print) {
    print_command(of, command, header.cwd, line.json, io);
    return {};
  }
  if (!line.force) {
    RETURN_IF_ERROR(check_quiet(*of.session, *catalog));
  }
  return run_agent(command, header.cwd, io);
}

}  // namespace

int run_resume(const CommandLine& line, Terminal& io) {
  const auto done = resume(line, io);
  return done ? kDone : fail(io, done.error());
}

}  // namespace arborfs::cli
