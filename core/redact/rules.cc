#include "core/redact/rules.h"

#include <pwd.h>
#include <re2/re2.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "core/base/log.h"
#include "core/base/words.h"
#include "core/os/own_list.h"

namespace arborfs::redact {
namespace {

constexpr const char* kOwnFile = "redact.tsv";
constexpr const char* kPersonRule = "user";
constexpr std::size_t kShortestUser = 3;  // shorter names are also words
constexpr std::string_view kAnyCase = "(?i)";
constexpr std::string_view kSpace = "\\s";  // in a keyword

std::shared_ptr<const re2::RE2> compiled(std::string_view pattern) {
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // texts may be no UTF-8, and keys are ASCII
  options.set_log_errors(false);
  return std::make_shared<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
}

std::vector<Keyword> keywords_in(std::string_view field) {
  std::vector<Keyword> keywords;
  while (!(field = stripped(field, " ")).empty()) {
    std::string_view word = field.substr(0, field.find(' '));
    field.remove_prefix(word.size());
    const bool starts_match = word.size() > 1 && word.front() == '^';
    word.remove_prefix(starts_match ? 1 : 0);
    std::string text(word);
    for (std::size_t at = text.find(kSpace); at < text.size(); at = text.find(kSpace)) {
      text.replace(at, kSpace.size(), " ");
    }
    keywords.push_back({std::move(text), starts_match});
  }
  return keywords;
}

bool is_name(std::string_view text) {
  return !text.empty() && text != "unscanned" && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

/// A row as a rule; else says what is wrong with it.
Result<Rule> rule_in(const ListRow& row) {
  const auto wrong = [](const std::string& what) { return Result<Rule>(Errc::invalid_argument, what); };
  Rule rule{std::string(row["name"]), keywords_in(row["keywords"]), row["pattern"].starts_with(kAnyCase), nullptr, 0,
            check_named(row["check"])};
  if (!is_name(rule.name)) {
    return wrong("a name has small letters, digits and hyphens, and is not unscanned");
  }
  if (row["pattern"].empty() && row["keywords"].empty()) {
    return rule;
  }
  if (rule.keywords.empty()) {
    return wrong("it needs keywords, one of which is in every text that it matches");
  }
  rule.pattern = compiled(row["pattern"]);
  if (row["pattern"].empty() || !rule.pattern->ok()) {
    return wrong("its pattern is no regular expression of RE2: " + rule.pattern->error());
  }
  if (rule.pattern->NumberOfCapturingGroups() > Rule::kMostGroups) {
    return wrong("its pattern has more than " + std::to_string(Rule::kMostGroups) + " groups; (?:...) is none");
  }
  if (re2::RE2::FullMatch("", *rule.pattern)) {
    return wrong("its pattern matches the empty text");
  }
  const std::string_view entropy = row["entropy"];
  const auto [end, error] = std::from_chars(entropy.data(), entropy.data() + entropy.size(), rule.entropy);
  if (!entropy.empty() && (error != std::errc() || end != entropy.data() + entropy.size() || !(rule.entropy >= 0))) {
    return wrong("its entropy is no number of bits");
  }
  if (rule.check == nullptr) {
    return wrong("its check is none of " + join_words(names_of_checks()));
  }
  return rule;
}

}  // namespace

Person Person::here(std::string home) {
  const passwd* const user = ::getpwuid(::getuid());
  return {user == nullptr ? "" : user->pw_name, std::move(home)};
}

RulesPtr Rules::in_force(const Person& person) {
  auto rules = std::make_shared<Rules>();
  if (const auto added = rules->add(kRuleList); !added) {
    rules->problem_ = "the list of rules: " + added.error().message;
    write_log(LogLevel::error, rules->problem_);
  }
  rules->add(person);
  OwnList own = read_own_list(kOwnFile, [&](std::string_view list) { return rules->add(list); });
  rules->own_ = std::move(own.path);
  rules->problem_ = own.problem.empty() ? rules->problem_ : std::move(own.problem);
  return rules;
}

Result<void> Rules::add(std::string_view list) {
  std::vector<Rule> added;
  const auto done = read_list(list, {"name", "keywords", "pattern"}, [&added](const ListRow& row) -> std::string {
    auto rule = rule_in(row);
    if (!rule) {
      return rule.error().message;
    }
    added.push_back(*std::move(rule));
    return "";
  });
  std::erase_if(rules_, [&added](const Rule& rule) {
    return std::any_of(added.begin(), added.end(), [&](const Rule& one) { return one.name == rule.name; });
  });
  std::erase_if(added, [](const Rule& rule) { return rule.pattern == nullptr; });
  rules_.insert(rules_.begin(), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
  return done;
}

void Rules::add(const Person& person) {
  const auto add_text = [this](const std::string& text, const std::string& pattern) {
    rules_.push_back(
        {kPersonRule, {{text, true}}, true, compiled(std::string(kAnyCase) + pattern), 0, check_named("user")});
  };
  if (person.user.size() >= kShortestUser) {
    add_text(person.user, "\\b(" + re2::RE2::QuoteMeta(person.user) + ")\\b");
  }
  if (const std::size_t slash = person.home.rfind('/'); slash != std::string::npos && slash + 1 < person.home.size()) {
    const std::string above = person.home.substr(0, slash + 1);
    const std::string name = person.home.substr(slash + 1);
    add_text(person.home, re2::RE2::QuoteMeta(above) + "(" + re2::RE2::QuoteMeta(name) + ")\\b");
  }
}

}  // namespace arborfs::redact
