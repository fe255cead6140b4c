#include "tools/arborfs/command_line.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <sstream>

#include "core/base/columns.h"
#include "core/base/suggestion.h"
#include "core/entry/text.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/grammar.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/word_checks.h"

namespace arborfs::cli {
namespace {

bool is_directory(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

/// True if the word can be the SOURCE of fstab: a folder, or a word for the user's own.
bool is_mount_source(const std::string& word) {
  return word.empty() || word == "none" || word == "arborfs" || word.find('/') != std::string::npos ||
         is_directory(word);
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-';
}

/// Turns `arborfs SOURCE MOUNTPOINT [-o OPTIONS]` into `arborfs mount --agent-dir=SOURCE MOUNTPOINT [-o OPTIONS]`.
std::vector<std::string> with_verb(std::vector<std::string> words) {
  if (words.size() < 2 || is_option(words[0]) || words[1].starts_with('-') || !is_mount_source(words[0])) {
    return words;
  }
  const std::string source = words[0];
  words[0] = "mount";
  if (!source.empty() && source != "none" && source != "arborfs") {
    words.insert(words.begin() + 1, "--agent-dir=" + source);
  }
  return words;
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

/// words_of_option() for short options, of which all but the last are flags: -q, -qn 5, -qn5.
std::size_t words_of_short_options(const CLI::App& verb, const std::string& word) {
  for (std::size_t at = 1; at < word.size(); ++at) {
    const CLI::Option* option = verb.get_option_no_throw(std::string("-") + word[at]);
    if (option == nullptr) {
      return 0;
    }
    if (takes_value(*option)) {
      return at + 1 == word.size() ? 2 : 1;
    }
  }
  return 1;
}

/// The number of words that an option takes, itself included; 0 if the verb has no such option.
std::size_t words_of_option(const CLI::App& verb, const std::string& word) {
  if (!is_option(word)) {
    return 0;
  }
  if (!word.starts_with("--")) {
    return words_of_short_options(verb, word);
  }
  const std::string name = word.substr(0, word.find('='));
  const CLI::Option* option = verb.get_option_no_throw(name);
  if (option == nullptr) {
    return 0;
  }
  return takes_value(*option) && word.size() == name.size() ? 2 : 1;
}

/// True if the words before `end` are options of the verb and their values.
bool are_options(const CLI::App& verb, const std::vector<std::string>& words, std::size_t end) {
  std::size_t at = 0;
  while (at < end) {
    const std::size_t taken = words_of_option(verb, words[at]);
    if (taken == 0) {
      return false;
    }
    at += taken;
  }
  return at == end;
}

/// Moves the verb before the options that precede it: `--json ls` becomes `ls --json`, `help ls` becomes `ls --help`.
std::vector<std::string> verb_first(const Grammar& grammar, std::vector<std::string> words) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (const CLI::App* verb = grammar.verb(words[at]); verb != nullptr && are_options(*verb, words, at)) {
      std::rotate(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at),
                  words.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      return words;
    }
  }
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin(),
                std::find_if(words.begin(), words.end(), [](const std::string& word) { return word != "help"; }));
    words.insert(words.begin() + (words.empty() || is_option(words[0]) ? 0 : 1), "--help");
  }
  return words;
}

/// Moves the end of the options, `--`, before the verb's first argument: `search a -n 5 -- -b` becomes
/// `search -n 5 -- a -b`. CLI11 takes `--` for the end of the whole line where the verb needs no more arguments.
std::vector<std::string> with_early_end(const Grammar& grammar, std::vector<std::string> words) {
  const CLI::App* verb = grammar.verb(words.empty() ? "" : words[0]);
  const auto end = std::find(words.begin(), words.end(), "--");
  if (verb == nullptr || end == words.end()) {
    return words;
  }
  std::vector<std::string> options{words[0]};
  std::vector<std::string> arguments;
  for (auto word = words.begin() + 1; word < end;) {
    const auto taken = static_cast<std::ptrdiff_t>(std::max<std::size_t>(words_of_option(*verb, *word), 1));
    const auto next = word + std::min(taken, end - word);
    auto& into = is_option(*word) ? options : arguments;
    into.insert(into.end(), word, next);
    word = next;
  }
  options.emplace_back("--");
  options.insert(options.end(), arguments.begin(), arguments.end());
  options.insert(options.end(), end + 1, words.end());
  return options;
}

/// A line of the help: a name and what it means, or words alone.
struct HelpLine {
  std::string name;
  std::string words;
};

/// The lines of the help as CLI11 makes it: descriptions begin at kHelpColumn, below a longer name.
std::vector<HelpLine> lines_of_help(const std::string& help) {
  std::vector<HelpLine> lines;
  std::istringstream all(help);
  for (std::string line; std::getline(all, line);) {
    const bool goes_on = line.size() > kHelpColumn && line.find_first_not_of(' ') == kHelpColumn;
    if (goes_on && !lines.empty()) {
      lines.back().words = line.substr(kHelpColumn);
    } else if (!line.starts_with("  ")) {
      lines.push_back({"", line});
    } else {
      const std::string name = line.substr(0, kHelpColumn);
      const bool is_alone = line.size() <= kHelpColumn || name.back() != ' ';
      lines.push_back(
          {is_alone ? line : name.substr(0, name.find_last_not_of(' ') + 1), is_alone ? "" : line.substr(kHelpColumn)});
    }
  }
  return lines;
}

/// The help for a screen of `width` columns: descriptions stand beside the names, or below them if there is no room.
std::string laid_out(const std::string& help, std::size_t width) {
  constexpr std::size_t kIndent = 6;
  constexpr std::size_t kLeastWords = 24;
  const auto lines = lines_of_help(help);
  std::size_t column = 0;
  for (const HelpLine& line : lines) {
    column = std::max(column, line.words.empty() ? 0 : std::min(columns_of(line.name) + 2, kHelpColumn));
  }
  const bool is_beside = column + kLeastWords <= width;
  column = is_beside ? column : kIndent;
  std::string text;
  for (const HelpLine& line : lines) {
    if (line.name.empty()) {
      for (const std::string& part : lines_of_columns(line.words, width)) {
        text += part + "\n";
      }
      continue;
    }
    text += line.name;
    std::size_t at = columns_of(line.name);
    for (const std::string& part : lines_of_columns(line.words, width - std::min(width - 1, column))) {
      text += at + 2 > column && !part.empty() ? "\n" : "";
      text += std::string(part.empty() ? 0 : at + 2 > column ? column : column - at, ' ') + part;
      at = SIZE_MAX - 2;
    }
    text += "\n";
  }
  return text;
}

/// The columns of the help: lines that are longer than a hundred are hard to read.
std::size_t width_of_help(const Terminal& io) {
  constexpr std::size_t kWithoutScreen = 80;
  constexpr std::size_t kMost = 100;
  return io.out_is_terminal && io.width > 0 ? std::min(io.width, kMost) : kWithoutScreen;
}

std::string quoted(const std::string& word) {
  return "'" + visible_line(word, kShownOfWord) + "'";
}

std::string no_option(const std::string& word, const std::vector<CLI::App*>& apps) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const CLI::App* app : apps) {
    for (const CLI::Option* option : app->get_options()) {
      std::copy(option->get_lnames().begin(), option->get_lnames().end(), std::back_inserter(names));
    }
  }
  const std::string meant = name.size() > 2 ? nearest(name.substr(name.find_first_not_of('-')), names) : "";
  return "unknown option " + quoted(name) + did_you_mean(meant.empty() ? "" : "--" + meant);
}

/// The complaint about a word that was probably meant to be excluded from a search.
std::string no_word_of_search(const std::string& word) {
  return "unknown option " + quoted(word) + "; to exclude a word, write -- before the query: arborfs search -- WORD " +
         visible_line(word, kShownOfWord);
}

/// The complaint about the first of the options in front of a verb that it does not have.
std::string lacks_option(const CLI::App& verb, const std::vector<std::string>& words) {
  std::size_t at = 0;
  while (at + 1 < words.size() && words_of_option(verb, words[at]) > 0) {
    at += words_of_option(verb, words[at]);
  }
  const std::string& other = words[std::min(at, words.size() - 1)];
  return quoted(verb.get_name()) + " has no option " + quoted(other.substr(0, other.find('=')));
}

/// The complaint about a line without a verb; "" if it asks for help or for the version.
std::string complain_of_no_verb(Grammar& grammar, const std::vector<std::string>& words) {
  std::size_t at = 0;
  while (at < words.size()) {
    std::size_t taken = words_of_option(grammar.app(), words[at]);
    if (taken > 0) {
      return "";
    }
    for (const CLI::App* verb : grammar.verbs()) {
      taken = std::max(taken, words_of_option(*verb, words[at]));
    }
    if (taken == 0) {
      break;
    }
    at += taken;
  }
  if (at >= words.size()) {
    return "a verb is missing";
  }
  if (const CLI::App* verb = grammar.verb(words[at])) {
    return lacks_option(*verb, words);
  }
  if (!is_option(words[at])) {
    return "unknown verb " + quoted(words[at]) + did_you_mean(nearest(words[at], grammar.verb_names()));
  }
  auto apps = grammar.verbs();
  apps.push_back(&grammar.app());
  return no_option(words[at], apps);
}

/// The words that CLI11 could not place, in the order of the line, without options that the verb has.
std::vector<std::string> strays(const Grammar& grammar, const CLI::App& verb, const std::vector<std::string>& words) {
  auto left = grammar.app().remaining(true);
  std::vector<std::string> found;
  for (const auto& word : words) {
    if (const auto at = std::find(left.begin(), left.end(), word); at != left.end()) {
      left.erase(at);
      if (words_of_option(verb, word) == 0) {
        found.push_back(word);
      }
    }
  }
  return found;
}

/// The complaint about the words after a verb, in this program's own words.
std::string complaint(const CLI::ParseError& error, const Grammar& grammar, CLI::App* verb,
                      const std::vector<std::string>& words) {
  const auto unplaced = strays(grammar, *verb, words);
  if (const auto option = std::find_if(unplaced.begin(), unplaced.end(), is_option); option != unplaced.end()) {
    return verb->get_name() == "search" && !option->starts_with("--") ? no_word_of_search(*option)
                                                                      : no_option(*option, {verb});
  }
  const std::string said = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return said.substr(0, said.find(':')) + " needs a value";
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr || unplaced.empty()) {
    return said;
  }
  std::string all;
  for (const auto& word : unplaced) {
    all += " " + quoted(word);
  }
  return std::string("unexpected argument") + (unplaced.size() == 1 ? "" : "s") + all;
}

/// Reads the words into the CommandLine of the grammar. Prints help and the version itself.
int read_words(Grammar& grammar, const std::vector<std::string>& words, Terminal& io) {
  CLI::App* verb = grammar.verb(words.empty() ? "" : words[0]);
  if (verb == nullptr) {
    if (const std::string wrong = complain_of_no_verb(grammar, words); !wrong.empty()) {
      return misused(io, "", wrong);
    }
  }
  try {
    // CLI11 expects the words in reverse order.
    grammar.app().parse(std::vector<std::string>(words.rbegin(), words.rend()));
    return kDone;
  } catch (const CLI::CallForVersion&) {
    io.out << grammar.app().version() << "\n";
  } catch (const CLI::ParseError& stop) {
    if (stop.get_exit_code() != 0) {
      return misused(io, verb == nullptr ? "" : words[0],
                     verb == nullptr ? stop.what() : complaint(stop, grammar, verb, words));
    }
    io.out << laid_out(grammar.app().help(), width_of_help(io));
  }
  grammar.line().run = nullptr;
  return kDone;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> all;
  for (const CLI::Option* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) {
      all.push_back("--" + name);
    }
    for (const auto& name : option->get_snames()) {
      all.push_back("-" + name);
    }
  }
  return all;
}

}  // namespace

std::string CommandLine::query_text() const {
  std::string text;
  for (const std::string& word : query) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

CommandLine read_command_line(int argc, const char* const* argv, Terminal& io) {
  CommandLine line;
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  Grammar grammar(line, words.empty() ? "" : words[0]);
  const auto end_of_options = std::find(words.begin(), words.end(), "--");
  io.json_errors = std::find(words.begin(), end_of_options, "--json") != end_of_options;
  words = verb_first(grammar, std::move(words));
  if (grammar.verb(words.empty() ? "" : words[0]) == nullptr) {
    words = with_verb(std::move(words));
  }
  words = with_early_end(grammar, std::move(words));
  line.status = read_words(grammar, words, io);
  if (line.status != kDone) {
    line.run = nullptr;
  }
  io.colour = line.color == "always" ? Colour::always : line.color == "never" ? Colour::never : Colour::by_terminal;
  return line;
}

std::vector<VerbOptions> all_options() {
  CommandLine unused;
  Grammar grammar(unused);
  std::vector<VerbOptions> all{{"", options_of(grammar.app())}};
  for (CLI::App* verb : grammar.verbs()) {
    all.push_back({verb->get_name(), options_of(*verb)});
  }
  return all;
}

}  // namespace arborfs::cli
