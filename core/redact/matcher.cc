#include "core/redact/matcher.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/base/ascii.h"

namespace arborfs::redact {
namespace {

constexpr std::size_t kBehind = 192;   // where a match ends that begins anywhere around its keyword
constexpr std::size_t kWindow = 4096;  // the first try for one that begins with its keyword
constexpr std::string_view kWord = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-";
constexpr std::string_view kTrailing = ". :\t\r\n";  // what ends a sentence and no secret

/// Each keyword once, and the rules that it is of.
template <class Use>
std::vector<std::string> distinct_keywords(const std::vector<Rule>& rules, std::vector<std::vector<Use>>& uses) {
  std::map<std::string, std::size_t> index;
  std::vector<std::string> keywords;
  for (std::size_t rule = 0; rule < rules.size(); ++rule) {
    for (const Keyword& keyword : rules[rule].keywords) {
      const auto [at, is_new] = index.try_emplace(in_lower_case(keyword.text), keywords.size());
      if (is_new) {
        keywords.push_back(at->first);
        uses.emplace_back();
      }
      uses[at->second].push_back({rule, keyword.starts_match, rules[rule].is_any_case ? "" : keyword.text});
    }
  }
  return keywords;
}

/// What is longer than a window is taken in any case: it cannot be tried again from each keyword in it.
bool is_secret(const Rule& rule, std::string_view text) {
  const Verdict verdict = rule.check(text);
  return verdict == Verdict::proven || text.size() > kWindow ||
         (verdict == Verdict::possible && entropy_of(text) >= rule.entropy);
}

/// Calls visit(begin, end) for each label, in order.
template <class Visit>
void each_label(std::string_view text, const Visit& visit) {
  for (std::size_t at = text.find(kLabelStart); at < text.size(); at = text.find(kLabelStart, at + 1)) {
    if (const std::string_view label = label_at(text.substr(at)); !label.empty()) {
      visit(at, at + label.size());
    }
  }
}

}  // namespace

std::string_view label_at(std::string_view text) {
  if (!text.starts_with(kLabelStart)) {
    return "";
  }
  constexpr std::string_view kName = "abcdefghijklmnopqrstuvwxyz0123456789-";
  const std::size_t name = std::min(text.find_first_not_of(kName, kLabelStart.size()), text.size());
  const bool has_number = name < text.size() && text[name] == '#';
  const std::size_t end = has_number ? text.find_first_not_of("0123456789", name + 1) : name;
  const bool is_label =
      name > kLabelStart.size() && end < text.size() && text[end] == ']' && (!has_number || end > name + 1);
  return is_label ? text.substr(0, end + 1) : std::string_view();
}

Matcher::Matcher(RulesPtr rules) : rules_(std::move(rules)), scan_(distinct_keywords(rules_->all(), uses_)) {}

void Matcher::find(std::string_view text, std::vector<Match>& matches) const {
  std::vector<Span> labels;
  each_label(text, [&](std::size_t begin, std::size_t end) { labels.push_back({begin, end}); });
  std::vector<std::size_t> done(rules().size(), 0);  // where the last match of each rule ends
  std::size_t label = 0;
  scan_.each(text, [&](std::size_t keyword, std::size_t at) {
    while (label < labels.size() && labels[label].end <= at) {
      ++label;
    }
    // A longer keyword that ends later may begin before the label.
    const bool is_in_label = label < labels.size() && at >= labels[label].begin;
    if (is_in_label) {
      return;
    }
    for (const Use& use : uses_[keyword]) {
      if (at >= done[use.rule] && text.substr(at).starts_with(use.exact)) {
        match(text, use, at, labels, done, matches);
      }
    }
  });
}

void Matcher::match(std::string_view text, const Use& use, std::size_t at, const std::vector<Span>& labels,
                    std::vector<std::size_t>& done, std::vector<Match>& matches) const {
  const Rule& rule = rules()[use.rule];
  const re2::StringPiece whole(text.data(), text.size());
  std::array<re2::StringPiece, Rule::kMostGroups + 1> groups;
  const int count = rule.pattern->NumberOfCapturingGroups() + 1;
  const auto anchor = use.starts_match ? re2::RE2::ANCHOR_START : re2::RE2::UNANCHORED;
  const std::size_t begin = use.starts_match ? at : std::max(done[use.rule], at - std::min(at, Rule::kBefore));
  std::size_t window = use.starts_match ? kWindow : kBehind;
  for (bool is_cut = true; is_cut; window *= 4) {
    const std::size_t end = text.size() - at <= window ? text.size() : at + window;
    if (!rule.pattern->Match(whole, begin, end, anchor, groups.data(), count)) {
      return;
    }
    // What reaches the end of the window may go on behind it.
    is_cut = end < text.size() && groups[0].data() + groups[0].size() == text.data() + end;
  }
  const auto* const group =
      std::find_if(groups.begin() + 1, groups.begin() + count, [](const auto& one) { return one.data() != nullptr; });
  const re2::StringPiece& found = group == groups.begin() + count ? groups[0] : *group;
  const auto match_begin = static_cast<std::size_t>(groups[0].data() - text.data());
  const auto from = static_cast<std::size_t>(found.data() - text.data());
  const auto add = [&](std::size_t first, std::size_t last) {
    const std::string_view part = text.substr(first, last - first);
    const std::size_t end = part.find_last_not_of(kTrailing) + 1;
    if (end > 0 && end <= part.size() && is_secret(rule, part.substr(0, end))) {
      matches.push_back({use.rule, match_begin, {first, first + end}});
      done[use.rule] = first + end;
    }
  };
  // Labels are no part of a secret; of what stands behind them only the rest of their word can be one.
  std::size_t begin_left = from;
  const std::size_t end_left = from + found.size();
  bool is_behind_label = false;
  auto label = std::upper_bound(labels.begin(), labels.end(), from,
                                [](std::size_t place, const Span& one) { return place < one.end; });
  if (label != labels.end() && label->begin < from) {
    return;  // the label's own text looked like a name
  }
  for (; label != labels.end() && label->begin < end_left; ++label) {
    if (!is_behind_label) {
      add(begin_left, label->begin);
    }
    begin_left = std::min(label->end, end_left);
    is_behind_label = true;
  }
  const std::string_view rest = text.substr(begin_left, end_left - begin_left);
  add(begin_left, begin_left + (is_behind_label ? std::min(rest.find_first_not_of(kWord), rest.size()) : rest.size()));
}

}  // namespace arborfs::redact
