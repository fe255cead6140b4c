// Finds what the rules take in one text as it stands: all keywords in one pass, then patterns around them. Immutable;
// any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/redact/decoded_view.h"
#include "core/redact/keyword_scan.h"
#include "core/redact/rules.h"

namespace arborfs::redact {

struct Match {
  std::size_t rule = 0;         // in Matcher::rules()
  std::size_t match_begin = 0;  // of the whole match, which may begin with the name of the secret
  Span secret;
};

class Matcher {
 public:
  explicit Matcher(RulesPtr rules);
  [[nodiscard]] const std::vector<Rule>& rules() const { return rules_->all(); }
  /// Appends the matches in the text. Labels stay out of them.
  void find(std::string_view text, std::vector<Match>& matches) const;

 private:
  struct Use {
    std::size_t rule;
    bool starts_match;
    std::string exact;  // how the text must spell the keyword; "" for in any case
  };
  void match(std::string_view text, const Use& use, std::size_t at, const std::vector<Span>& labels,
             std::vector<std::size_t>& done, std::vector<Match>& matches) const;

  RulesPtr rules_;
  std::vector<std::vector<Use>> uses_;  // of each keyword
  KeywordScan scan_;
};

/// The label at the beginning of the text; "" if there is none.
std::string_view label_at(std::string_view text);

inline constexpr std::string_view kLabelStart = "[redacted:";

}  // namespace arborfs::redact
