// The verbs and their options: the one place where they stand. The manual page and the completions are held to it by
// tests.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/arborfs/command_line.h"

namespace arborfs::cli {

/// The column at which descriptions begin in the help.
inline constexpr std::size_t kHelpColumn = 28;
/// How much of a wrong word is repeated in the complaint.
inline constexpr std::size_t kShownOfWord = 80;

/// Bound to the CommandLine that parsing fills.
class Grammar {
 public:
  explicit Grammar(CommandLine& into);

  CLI::App& app() { return app_; }
  const CLI::App& app() const { return app_; }
  CommandLine& line() { return into_; }
  const std::vector<CLI::App*>& verbs() const { return verbs_; }
  /// Null when there is no such verb.
  CLI::App* verb(const std::string& word) const;
  /// `help` too.
  std::vector<std::string> verb_names() const;

 private:
  CLI::App* add(const char* name, Verb verb, const char* help);
  CLI::App* add_with_store(const char* name, Verb verb, const char* help);
  CLI::App* add_with_session(const char* name, Verb verb, const char* help);
  void add_mounting();
  void add_reading();
  CLI::App* durable(CLI::App* sub);
  CLI::App* add_change(const char* name, Verb verb, const char* help);
  void add_words(CLI::App* sub, const char* name, const char* help);
  void add_writing();
  void add_making();
  CLI::Option* add_entry(CLI::App* sub);
  void add_checking();

  CommandLine& into_;
  CLI::App app_;
  std::vector<CLI::App*> verbs_;
};

}  // namespace arborfs::cli
