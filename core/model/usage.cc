#include "core/model/usage.h"

#include <cmath>

#include "core/json/document.h"

namespace arborfs {

namespace {

constexpr double kUntold = std::numeric_limits<double>::quiet_NaN();

/// A number of a usage, and its key.
struct Field {
  std::string_view key;
  double Usage::*number;
};

/// The numbers that agents report, in the order in which they are printed.
constexpr std::array kTold{Field{"input", &Usage::input},
                           Field{"output", &Usage::output},
                           Field{"reasoning", &Usage::reasoning},
                           Field{"cacheRead", &Usage::cache_read},
                           Field{"cacheWrite", &Usage::cache_write},
                           Field{"totalTokens", &Usage::total_tokens},
                           Field{"cost", &Usage::cost}};

void add_told(Usage& sums, const Usage& usage) {
  for (const Field& field : kTold) {
    double& sum = sums.*field.number;
    const double told = usage.*field.number;
    if (!std::isnan(told)) {
      sum = std::isnan(sum) ? told : sum + told;
    }
  }
}

}  // namespace

Usage untold_usage() {
  return {kUntold, kUntold, kUntold, kUntold, kUntold, kUntold, kUntold, kUntold, 0};
}

void UsageTotals::add(const Usage& usage) {
  if (usage.counts_in == 0) {
    return add_told(told_, usage);
  }
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
  UsageText text;
  for (const Field& field : kTold) {
    if (const double sum = totals.told().*field.number; !std::isnan(sum)) {
      text.add(field.key, sum);
    }
  }
  return text.text();
}

}  // namespace arborfs
