// The only definition of the verbs and their options. Tests compare the manual page and the completions with it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/arborfs/command_line.h"

namespace arborfs::cli {

/// The column at which descriptions begin in the help as CLI11 makes it.
inline constexpr std::size_t kHelpColumn = 28;

/// Parses into the CommandLine that it was constructed with.
class Grammar {
 public:
  /// `first` is the first word of a line. If it is a verb, other verbs may be missing: no complaint names them.
  explicit Grammar(CommandLine& into, const std::string& first = "");

  CLI::App& app() { return app_; }
  const CLI::App& app() const { return app_; }
  CommandLine& line() { return into_; }
  const std::vector<CLI::App*>& verbs() const { return verbs_; }
  /// Null if there is no such verb.
  CLI::App* verb(const std::string& word) const;
  /// Includes `help`.
  std::vector<std::string> verb_names() const;

 private:
  CLI::App* add(const char* name, RunVerb run, const char* help, Access access = Access::write);
  CLI::App* add_with_store(const char* name, RunVerb run, const char* help, Access access = Access::write);
  CLI::App* add_with_session(const char* name, RunVerb run, const char* help, Access access = Access::write);
  void add_mounting();
  /// Options that choose sessions.
  void add_choice(CLI::App* sub);
  void add_project(CLI::App* sub);
  CLI::App* coloured(CLI::App* sub);
  void add_times(CLI::App* sub, const char* since_help, const char* until_help);
  void add_history();
  void add_search();
  void add_stats();
  void add_ls();
  void add_du();
  void add_reading();
  void add_session_readers();
  void add_resume();
  void add_export();
  CLI::App* durable(CLI::App* sub);
  CLI::App* add_change(const char* name, RunVerb run, const char* help);
  void add_words(CLI::App* sub, const char* name, const char* help);
  void add_writing();
  void add_marks();
  void add_making();
  void add_checkpoints();
  void add_removing();
  void add_prune();
  void add_protect();
  void add_relocate();
  void add_undo();
  CLI::Option* add_entry(CLI::App* sub);
  CLI::Option* add_branch(CLI::App* sub, const char* help);
  /// A verb for what the tools of a session did.
  void add_work(const char* name, RunVerb run, const char* help, const char* branch_help);
  void add_checking();

  CommandLine& into_;
  CLI::App app_;
  std::vector<CLI::App*> verbs_;
  std::string group_;  // of the verbs that are added, in the help
};

}  // namespace arborfs::cli
