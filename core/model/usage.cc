#include "core/model/usage.h"

#include <limits>

#include "core/json/document.h"
#include "core/model/skim.h"

namespace arborfs {
namespace {

// `sum += value` where the value is what JSON text means: null adds nothing, a missing field makes NaN.
double as_addend(std::string_view literal) {
  if (literal == "null" || literal == "false") {
    return 0;
  }
  if (literal == "true") {
    return 1;
  }
  json::Document number;
  const bool is_number = !literal.empty() && json::parse(literal, number) && number.IsNumber();
  return is_number ? number.GetDouble() : std::numeric_limits<double>::quiet_NaN();
}

// The usage object of an entry, empty when it has none.
std::string_view usage_of(EntryType type, std::string_view raw, Flavour flavour) {
  if (type == EntryType::model_usage) {
    return flavour == Flavour::omp18 ? skim::member(raw, "usage") : std::string_view();
  }
  if (type != EntryType::message || !(skim::contains(raw, "usage") || skim::contains(raw, "\\u"))) {
    return {};
  }
  const std::string_view message = skim::member(raw, "message");
  const std::string_view role = skim::member(message, "role");
  if (skim::is_string(role, "assistant")) {
    return skim::member(message, "usage");
  }
  if (skim::is_string(role, "toolResult") && skim::is_string(skim::member(message, "toolName"), "task")) {
    return skim::member(skim::member(message, "details"), "usage");
  }
  return {};
}

}  // namespace

void UsageTotals::add(EntryType type, std::string_view raw) {
  const std::string_view usage = usage_of(type, raw, flavour_);
  const std::string_view cost = skim::member(usage, "cost");
  if (usage.empty() || usage[0] != '{') {
    return;
  }
  input_ += as_addend(skim::member(usage, "input"));
  output_ += as_addend(skim::member(usage, "output"));
  cache_read_ += as_addend(skim::member(usage, "cacheRead"));
  cache_write_ += as_addend(skim::member(usage, "cacheWrite"));
  total_tokens_ += as_addend(skim::member(usage, "totalTokens"));
  if (const std::string_view premium = skim::member(usage, "premiumRequests"); !premium.empty()) {
    premium_requests_ += as_addend(premium);
  }
  if (!cost.empty() && cost != "null") {
    cost_ += as_addend(skim::member(cost, "total"));
  }
}

std::string UsageTotals::json() const {
  std::string out = "{";
  const auto field = [&out](std::string_view key, double value) {
    out.append(out.size() > 1 ? ",\"" : "\"").append(key).append("\":").append(json::number_text(value));
  };
  field("input", input_);
  field("output", output_);
  field("cacheRead", cache_read_);
  field("cacheWrite", cache_write_);
  if (flavour_ == Flavour::omp18) {
    field("totalTokens", total_tokens_);
    field("orchestrationInput", 0);
    field("orchestrationOutput", 0);
    field("orchestrationCacheRead", 0);
  }
  field("premiumRequests", premium_requests_);
  field("cost", cost_);
  return out + "}";
}

}  // namespace arborfs
