#include "tools/arborfs/picker.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "core/base/result_macros.h"
#include "core/render/text.h"
#include "tools/arborfs/terminal/programs.h"
#include "tools/arborfs/terminal/table.h"

namespace arborfs::cli {
namespace {

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

}  // namespace

bool can_ask(const CommandLine& line, const Terminal& io) {
  return io.in_is_terminal && io.err_is_terminal && !line.json;
}

Result<Listed> pick(const CommandLine& line, const std::vector<Listed>& sessions, Terminal& io) {
  const std::string fzf = find_program(io, "fzf");
  return fzf.empty() ? pick_by_number(sessions, io) : pick_with_fzf(fzf, line, sessions);
}

}  // namespace arborfs::cli
