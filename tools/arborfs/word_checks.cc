#include "tools/arborfs/word_checks.h"

#include <algorithm>

#include "core/base/suggestion.h"
#include "core/entry/text.h"
#include "core/formats/registry.h"
#include "core/search/period.h"

namespace arborfs::cli {
namespace {

std::string in_one_line(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

}  // namespace

std::string complain_of_number(const std::string& word) {
  const bool is_number =
      !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? "" : "'" + visible_line(word, kShownOfWord) + "' is not a number";
}

WordCheck needs(const std::string& what) {
  return [what](const std::string& word) { return word.empty() ? what + " is needed, but the argument is empty" : ""; };
}

WordCheck is_one_of(const std::vector<std::string>& choices) {
  return [choices](const std::string& word) {
    const bool known = std::find(choices.begin(), choices.end(), word) != choices.end();
    return known ? ""
                 : "'" + visible_line(word, kShownOfWord) + "' is not one of " + in_one_line(choices) +
                       did_you_mean(nearest(word, choices));
  };
}

std::string complain_of_model(const std::string& word) {
  const std::size_t slash = word.find('/');
  const bool has_both = slash != std::string::npos && slash > 0 && slash + 1 < word.size();
  return has_both ? "" : "'" + visible_line(word, kShownOfWord) + "' does not have the form PROVIDER/MODEL";
}

std::string complain_of_date(const std::string& word) {
  return start_of(word) ? "" : no_time(word);
}

std::string complain_of_period(const std::string& word) {
  const auto start = start_of(word);
  const auto end = end_of(word);
  return start && end && *end > *start
             ? ""
             : "'" + visible_line(word, kShownOfWord) +
                   "' is not a day, month or year such as 2026-02, nor a period such as yesterday, \"this week\" or "
                   "\"last month\"";
}

std::string complain_of_store(const std::string& word) {
  const auto chosen = parse_chosen_store(word);
  return chosen ? "" : visible_line(chosen.error().message, 400);
}

}  // namespace arborfs::cli
