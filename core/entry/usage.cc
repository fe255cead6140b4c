#include "core/entry/usage.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "core/json/document.h"

namespace arborfs {

namespace {

constexpr double kUntold = std::numeric_limits<double>::quiet_NaN();

/// A number of a usage, and its key.
struct Field {
  std::string_view key;
  double Usage::*number;
};

/// The numbers that agents report, in the order in which they are printed. One without a key is not.
constexpr std::array kTold{Field{"input", &Usage::input},
                           Field{"output", &Usage::output},
                           Field{"reasoning", &Usage::reasoning},
                           Field{"cacheRead", &Usage::cache_read},
                           Field{"cacheWrite", &Usage::cache_write},
                           Field{"", &Usage::cache_write_1h},
                           Field{"totalTokens", &Usage::total_tokens},
                           Field{"cost", &Usage::cost}};

}  // namespace

Usage untold_usage() {
  return {kUntold, kUntold, kUntold, kUntold, kUntold, kUntold, kUntold, kUntold, 0};
}

void add_usage(Usage& sums, const Usage& usage) {
  for (const Field& field : kTold) {
    double& sum = sums.*field.number;
    const double told = usage.*field.number;
    if (!std::isnan(told)) {
      sum = std::isnan(sum) ? told : sum + told;
    }
  }
}

bool is_told(const Usage& usage) {
  return std::any_of(kTold.begin(), kTold.end(),
                     [&usage](const Field& field) { return !std::isnan(usage.*field.number); });
}

std::uint64_t token_count(double number) {
  constexpr double kMost = 1e18;
  return std::isnan(number) ? 0 : static_cast<std::uint64_t>(std::clamp(std::round(number), 0.0, kMost));
}

namespace {

double sum_told(std::initializer_list<double> numbers) {
  double sum = 0;
  for (const double number : numbers) {
    sum += std::isnan(number) ? 0 : number;
  }
  return sum;
}

}  // namespace

double prompt_tokens(const Usage& usage) {
  return sum_told({usage.input, usage.cache_read, usage.cache_write});
}

double tokens_told(const Usage& usage) {
  return sum_told({usage.input, usage.output, usage.cache_read, usage.cache_write});
}

Usage usage_growth(const Usage& from, const Usage& to) {
  Usage grown = to;
  for (const Field& field : kTold) {
    const double before = from.*field.number;
    grown.*field.number -= std::isnan(before) ? 0 : before;
    grown.*field.number = grown.*field.number < 0 ? 0 : grown.*field.number;
  }
  return grown;
}

void raise_usage(Usage& usage, const Usage& other) {
  for (const Field& field : kTold) {
    double& number = usage.*field.number;
    const double told = other.*field.number;
    number = std::isnan(number) || told > number ? told : number;
  }
}

bool lacks_cost(const Usage& usage) {
  return std::isnan(usage.cost) && (usage.input > 0 || usage.output > 0 || usage.cache_read > 0 ||
                                    usage.cache_write > 0 || usage.total_tokens > 0);
}

void UsageTotals::add(const Usage& usage) {
  if (usage.counts_in == 0) {
    without_cost_ += lacks_cost(usage) ? 1 : 0;
    return add_usage(told_, usage);
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

void UsageTotals::set_whole_cost(double cost) {
  told_.cost = std::isnan(told_.cost) ? cost : std::max(told_.cost, cost);
  without_cost_ = 0;
}

UsageLedger::Added UsageLedger::add(const UsageReport& report) {
  const bool has_sums = is_told(report.sums);
  if (!report.may_grow && !report.is_inherited && !has_sums) {
    const bool is_new = report.request == 0 || settled_requests_.insert(report.request).second;
    if (is_new) {
      settled_.add(report.usage);
    }
    return {is_new, std::nullopt};
  }
  const auto [known, is_new] = by_request_.try_emplace(report.request, requests_.size());
  if (is_new) {
    requests_.push_back({report.usage, report.is_inherited});
  }
  Request& request = requests_[known->second];
  raise_usage(request.usage, report.usage);
  request.is_inherited = request.is_inherited || report.is_inherited;
  if (has_sums && is_new) {
    sums_.emplace_back(known->second, report.sums);
  }
  return {is_new, known->second};
}

std::vector<Usage> UsageLedger::amounts() const {
  std::vector<Usage> amounts;
  amounts.reserve(requests_.size());
  for (const Request& request : requests_) {
    amounts.push_back(request.usage);
  }
  auto sums = sums_;
  std::stable_sort(sums.begin(), sums.end(),
                   [](const auto& a, const auto& b) { return tokens_told(a.second) < tokens_told(b.second); });
  for (std::size_t i = 0; i < sums.size(); ++i) {
    Usage& amount = amounts[sums[i].first];
    if (!is_told(amount)) {
      amount = i == 0 ? sums[i].second : usage_growth(sums[i - 1].second, sums[i].second);
    }
  }
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    amounts[i] = requests_[i].is_inherited ? untold_usage() : amounts[i];
  }
  return amounts;
}

UsageTotals UsageLedger::totals() const {
  UsageTotals totals = settled_;
  for (const Usage& amount : amounts()) {
    totals.add(amount);
  }
  return totals;
}

UsageText& UsageText::add(std::string_view key, double value) {
  text_.append(text_.size() > 1 ? ",\"" : "\"").append(key).append("\":").append(json::number_text(value));
  return *this;
}

std::string plain_usage_json(const UsageTotals& totals) {
  UsageText text;
  for (const Field& field : kTold) {
    if (const double sum = totals.told().*field.number; !std::isnan(sum) && !field.key.empty()) {
      text.add(field.key, sum);
    }
  }
  if (totals.without_cost() > 0 && !std::isnan(totals.told().cost)) {
    text.add("messagesWithoutCost", static_cast<double>(totals.without_cost()));
  }
  return text.text();
}

}  // namespace arborfs
