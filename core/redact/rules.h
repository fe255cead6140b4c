// What counts as a secret: the rules that are built in (rules.tsv) and those of the user,
// $XDG_CONFIG_HOME/arborfs/redact.tsv, which have the same columns and go first. Immutable once they are in force; any
// thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/redact/checks.h"

namespace re2 {
class RE2;
}

namespace arborfs::redact {

struct Keyword {
  std::string text;
  bool starts_match = false;  // else a match may also begin up to Rule::kBefore bytes before it, or after it
};

struct Rule {
  static constexpr std::size_t kBefore = 96;
  static constexpr int kMostGroups = 8;

  std::string name;  // of the labels; rules may share one
  std::vector<Keyword> keywords;
  bool is_any_case = false;                 // the keywords count in any case
  std::shared_ptr<const re2::RE2> pattern;  // over bytes; its first group that matches is the secret, or all of it
  double entropy = 0;                       // bits for each byte that a secret has at least
  Check check = nullptr;
};

/// Whose account and home folder are private; "" for nobody's.
struct Person {
  std::string user;
  std::string home;

  /// The account that runs this process.
  static Person here(std::string home);
};

class Rules;
using RulesPtr = std::shared_ptr<const Rules>;

class Rules {
 public:
  /// Those that are built in, those for the person, and the user's. Reads the user's file, of which a line that is
  /// wrong goes to the log. Redaction must not go on with a problem(): the user relies on the rule that is missing.
  static RulesPtr in_force(const Person& person);
  /// The user's file; "" if there is none.
  [[nodiscard]] const std::string& own() const { return own_; }
  /// What is wrong with it; "" for nothing.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// Adds a list, whose rows go before those of the lists so far and replace those of the same name. A row with a name
  /// only turns that rule off. Columns: name, keywords, pattern, entropy, check. Errors: invalid_argument, with the
  /// number of the first line that is wrong; the others are added.
  Result<void> add(std::string_view list);
  /// Adds the name of the person's account wherever it is a word, and the person's home folder.
  void add(const Person& person);

  /// The first one that finds a secret names it.
  [[nodiscard]] const std::vector<Rule>& all() const { return rules_; }

 private:
  std::vector<Rule> rules_;
  std::string own_;
  std::string problem_;
};

/// The list that is built in.
extern const std::string_view kRuleList;

}  // namespace arborfs::redact
