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
#include "tools/arborfs/word_checks.h"

namespace arborfs::cli {
namespace {

// Lets the user at the terminal choose one session: with fzf, which searches titles and texts and shows the end of the
// transcript, if it is installed; else from a numbered list, which words make shorter.

constexpr std::size_t kNumbered = 20;
constexpr std::size_t kShownQuery = 80;
constexpr std::size_t kShortestQuery = 3;  // that texts are searched for while it is typed

/// What there is to choose from.
struct Choice {
  const CommandLine& line;
  const Catalog& catalog;
  std::vector<Listed> sessions;  // at least one
};

std::vector<std::string> cells_of(const Listed& of) {
  return {time_words(of.mtime_ns), std::string(of.session->agent()), of.project ? of.project->name : "",
          session_name(*of.session, kTitleCharacters)};
}

Table table_of(const std::vector<Listed>& sessions, std::size_t shown, bool is_numbered) {
  std::vector<Table::Column> columns{
      {"MODIFIED", false, false, 2}, {"AGENT", false, false, 1}, {"PROJECT", false, true, 3}, {"TITLE", false, true}};
  if (is_numbered) {
    columns.insert(columns.begin(), {"", true});
  }
  Table table(std::move(columns));
  for (std::size_t i = 0; i < shown; ++i) {
    auto cells = cells_of(sessions[i]);
    if (is_numbered) {
      cells.insert(cells.begin(), std::to_string(i + 1));
    }
    table.add(std::move(cells));
  }
  return table;
}

/// A line for each session: its id, a tab, and the aligned columns, which take `width`.
std::string rows_of(const std::vector<Listed>& sessions, std::size_t width) {
  const auto lines = table_of(sessions, sessions.size(), false).lines(width);
  std::string rows;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    rows += sessions[i].id + "\t" + lines[i + 1] + "\n";
  }
  return rows;
}

/// This program with a verb and the stores and choices of the command line, for a shell.
std::string own_command(const std::string& verb, const CommandLine& line, bool with_choice) {
  std::error_code failed;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  std::string command = shell_quoted(self.empty() ? "arborfs" : self) + " " + verb;
  const auto add = [&command](const char* option, const std::string& value) {
    command += value.empty() ? "" : std::string(" ") + option + " " + shell_quoted(value);
  };
  for (const std::string& store : line.stores) {
    add("--store", store);
  }
  add("--agent-dir", line.agent_dir);
  add("--project", with_choice ? line.project : "");
  add("--agent", with_choice ? line.agent : "");
  return command;
}

/// fzf does not filter: at each change it asks `arborfs resume --list`, which knows the texts too. Its preview is the
/// end of the conversation, where it continues; {1} is the id.
Result<Listed> pick_with_fzf(const std::string& fzf, const Choice& choice, const Terminal& io) {
  constexpr std::size_t kWide = 100;
  constexpr std::size_t kBorders = 6;
  const bool is_wide = io.width >= kWide;
  const std::size_t all = is_wide ? io.width / 2 : io.width;
  const std::size_t width = all - std::min(all, kBorders);
  const std::string list =
      "sleep 0.1; COLUMNS=" + std::to_string(width) + " " + own_command("resume --list", choice.line, true) + " -- {q}";
  const std::string preview = own_command("text", choice.line, false) + (io.has_colour() ? " --color=always" : "") +
                              " -- {1} | tail -n \"${FZF_PREVIEW_LINES:-40}\"";
  ASSIGN_OR_RETURN(
      const std::string answer,
      run_filter(fzf,
                 {"fzf", "--disabled", "--no-multi", "--no-sort", "--layout=reverse", "--delimiter=\t",
                  "--with-nth=2..", "--prompt=resume> ", "--bind=change:reload:" + list, "--preview=" + preview,
                  std::string("--preview-window=") + (is_wide ? "right" : "down") + ":50%:wrap"},
                 rows_of(choice.sessions, width)));
  auto session = choice.catalog.find(answer.substr(0, std::min(answer.find_first_of("\t\n"), answer.size())));
  if (!session) {
    return {Errc::interrupted, "nothing was chosen"};
  }
  return listed(choice.catalog, *session);
}

void print_numbered(const std::vector<Listed>& sessions, std::size_t shown, Terminal& io) {
  for (const std::string& row : table_of(sessions, shown, true).lines(io.width)) {
    io.err << row << "\n";
  }
  if (shown < sessions.size()) {
    io.err << "and " << counted(sessions.size() - shown, "more session") << "\n";
  }
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

/// What remains of a choice while words are typed: the sessions that have them in a cell, then those in whose texts
/// they are.
std::vector<Listed> remaining(const Choice& choice, const std::string& query, Terminal& io) {
  const std::string wanted = folded(query);
  std::vector<Listed> found;
  for (const Listed& of : choice.sessions) {
    const auto cells = cells_of(of);
    if (std::any_of(cells.begin(), cells.end(),
                    [&](const std::string& cell) { return folded(cell).find(wanted) != std::string::npos; })) {
      found.push_back(of);
    }
  }
  if (query.size() < kShortestQuery) {
    return found;
  }
  const auto said = with_words(choice.sessions, choice.catalog, query, io);
  for (const Listed& of : said ? *said : std::vector<Listed>()) {
    if (std::none_of(found.begin(), found.end(), [&](const Listed& one) { return one.session == of.session; })) {
      found.push_back(of);
    }
  }
  return found;
}

Result<Listed> pick_by_number(const Choice& choice, Terminal& io) {
  auto sessions = choice.sessions;
  for (;;) {
    const std::size_t shown = std::min(sessions.size(), kNumbered);
    print_numbered(sessions, shown, io);
    io.err << "resume which session? a number, or words to search for [1] " << std::flush;
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
    if (answer.find_first_not_of("0123456789") == std::string::npos) {
      return {Errc::invalid_argument, "'" + visible_line(answer, kShownQuery) + "' is not a number in the list"};
    }
    auto found = remaining(choice, answer, io);
    if (found.empty()) {
      io.err << "no session has the words '" << visible_line(answer, kShownQuery) << "'\n";
    } else {
      sessions = std::move(found);
    }
  }
}

/// True if there is a user to ask.
bool can_ask(const CommandLine& line, const Terminal& io) {
  return io.in_is_terminal && io.err_is_terminal && !line.json;
}

/// Asks the user to choose a session. Errors: interrupted if the user chooses none; invalid_argument for a number that
/// is not in the list; io.
Result<Listed> pick(const Choice& choice, Terminal& io) {
  const std::string fzf = find_program(io, "fzf");
  return fzf.empty() ? pick_by_number(choice, io) : pick_with_fzf(fzf, choice, io);
}

constexpr std::size_t kShownCwd = 4096;

/// The sessions that the options choose, without those that others started.
Result<std::vector<Listed>> candidates(const CommandLine& line, const Catalog& catalog) {
  ASSIGN_OR_RETURN(auto sessions, chosen_sessions(line, catalog));
  std::erase_if(sessions, [](const Listed& of) { return !of.starter.empty(); });
  return sessions;
}

/// Those of the current folder first. Errors: not_found without any.
Result<Choice> all_to_choose(const CommandLine& line, const Catalog& catalog) {
  ASSIGN_OR_RETURN(auto sessions, candidates(line, catalog));
  if (sessions.empty()) {
    return {Errc::not_found, "there are no sessions"};
  }
  std::error_code failed;
  const std::string here = std::filesystem::current_path(failed).string();
  std::stable_partition(sessions.begin(), sessions.end(),
                        [&](const Listed& of) { return of.session->head().header.cwd == here; });
  return Choice{line, catalog, std::move(sessions)};
}

Result<Listed> pick_any(const CommandLine& line, const Catalog& catalog, Terminal& io) {
  ASSIGN_OR_RETURN(const Choice choice, all_to_choose(line, catalog));
  return pick(choice, io);
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
    return pick({line, catalog, std::move(found)}, io);
  }
  return {Errc::invalid_argument, "several sessions match " + shown + ":" + session_lines(std::move(found))};
}

Result<Listed> chosen_session(const CommandLine& line, Catalog& catalog, Terminal& io) {
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

/// The columns for rows that another program shows: $COLUMNS; 0 for no limit.
std::size_t columns_for_rows(const Terminal& io) {
  if (io.out_is_terminal) {
    return io.width;
  }
  const std::string columns = io.env ? io.env("COLUMNS").value_or("") : "";
  return complain_of_number(columns).empty() && columns.size() < 5 ? std::stoul(columns) : 0;
}

/// What a choice chooses from, with the words of the command line.
Result<void> list_choice(const CommandLine& line, const Catalog& catalog, Terminal& io) {
  ASSIGN_OR_RETURN(const Choice choice, all_to_choose(line, catalog));
  const std::string query = line.query_text();
  const auto sessions = query.empty() ? choice.sessions : remaining(choice, query, io);
  if (!line.json) {
    io.out << rows_of(sessions, columns_for_rows(io));
    return {};
  }
  auto all = JsonText::lines();
  for (const Listed& of : sessions) {
    all.item_json(JsonText::object()
                      .add("session", of.id)
                      .add("agent", of.session->agent())
                      .add("project", of.project ? of.project->name : "")
                      .add("title", session_name(*of.session, kTitleCharacters))
                      .str());
  }
  io.out << terminal_safe_json(all.str()) << "\n";
  return {};
}

Result<void> resume(const CommandLine& line, Terminal& io) {
  ASSIGN_OR_RETURN(const auto catalog, open_catalog(line, io));
  if (line.list) {
    return list_choice(line, *catalog, io);
  }
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
