#include "core/model/usage.h"

#include "core/json/document.h"

namespace arborfs {

void UsageTotals::add(const Usage& usage) {
  is_empty_ = false;
  for (std::size_t which = 0; which < kSums; ++which) {
    if ((usage.counts_in >> which & 1U) == 0) {
      continue;
    }
    for (double Usage::*sum : {&Usage::input, &Usage::output, &Usage::cache_read, &Usage::cache_write,
                               &Usage::total_tokens, &Usage::premium_requests, &Usage::cost}) {
      sums_[which].*sum += usage.*sum;
    }
  }
}

UsageText& UsageText::add(std::string_view key, double value) {
  text_.append(text_.size() > 1 ? ",\"" : "\"").append(key).append("\":").append(json::number_text(value));
  return *this;
}

std::string plain_usage_json(const UsageTotals& totals) {
  if (totals.is_empty()) {
    return "{}";
  }
  const Usage& sum = totals.sum();
  return UsageText()
      .add("input", sum.input)
      .add("output", sum.output)
      .add("cacheRead", sum.cache_read)
      .add("cacheWrite", sum.cache_write)
      .add("totalTokens", sum.total_tokens)
      .add("cost", sum.cost)
      .text();
}

}  // namespace arborfs
