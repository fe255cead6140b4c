// Any bytes as a text and as JSON to redact: JSON stays JSON, redacting the result changes nothing, and text without
// secrets keeps its bytes.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/words.h"
#include "core/json/scan.h"
#include "core/redact/redactor.h"
#include "tests/fuzz/support/check.h"

namespace arborfs::fuzz {
namespace {

constexpr std::size_t kLongest = 16 * 1024;

redact::RulesPtr built_in() {
  auto rules = std::make_shared<redact::Rules>();
  check(rules->add(redact::kRuleList).has_value(), "the rules that are built in are wrong");
  return rules;
}

bool is_json(std::string_view text) {
  return json::is_one_value(stripped(text));
}

void check_redaction(std::string_view input) {
  static const redact::RulesPtr kRules = built_in();
  redact::Redactor redactor(kRules);
  const std::string text = redactor.redact(input);
  if (redactor.taken().empty()) {
    check_equal(text, std::string(input), "text without secrets");
  }
  check_equal(redactor.redact(text), text, "redacted text");
  redact::Redactor other(kRules);
  const std::string document = other.redact_json(input);
  if (!stripped(input).empty() && is_json(input)) {
    check(is_json(document), "redacted JSON is none", document);
  }
  check_equal(other.redact_json(document), document, "redacted JSON");
}

}  // namespace
}  // namespace arborfs::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.size() <= arborfs::fuzz::kLongest) {
    arborfs::fuzz::check_redaction(input);
  }
  return 0;
}
