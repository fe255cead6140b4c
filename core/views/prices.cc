#include "core/views/prices.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/ascii.h"
#include "core/base/log.h"
#include "core/os/own_list.h"

namespace arborfs {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kMillion = 1e6;
constexpr double kMostDollars = 1e9;  // of one request; more is no number of tokens
constexpr const char* kOwnFile = "prices.tsv";

/// NaN for an empty field; nothing if it is no number of dollars or tokens.
std::optional<double> number_in(std::string_view field) {
  if (field.empty()) {
    return kUnknown;
  }
  double number = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  const bool is_number = error == std::errc() && end == field.data() + field.size() && number >= 0;
  return is_number && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

/// What so many tokens cost; an untold number is none.
double cost_of_tokens(double tokens, double price) {
  return std::isnan(tokens) || tokens <= 0 ? 0 : tokens * price;
}

/// True where the name of a model may end, and more about it follow.
bool ends_name(char c) {
  const bool is_alphanumeric = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  return !is_alphanumeric && c != '.';
}

}  // namespace

PricesPtr Prices::in_force() {
  auto prices = std::make_shared<Prices>();
  if (const auto added = prices->add(kPriceList); !added) {
    write_log(LogLevel::error, "the list of prices: " + added.error().message);
  }
  const OwnList own = read_own_list(kOwnFile, [&](std::string_view list) { return prices->add(list); });
  prices->own_ = own.path;
  prices->problem_ = own.problem;
  return prices;
}

Result<void> Prices::add(std::string_view list) {
  List rows;
  const auto done = read_list(list, {"model", "input"}, [&rows](const ListRow& told) -> std::string {
    bool is_number = true;
    const auto in = [&](std::string_view column) {
      const auto number = number_in(told[column]);
      is_number = is_number && number.has_value();
      return number.value_or(kUnknown) / kMillion;
    };
    Row row{{in("input"), in("output"), in("cache_read"), in("cache_write"), in("cache_write_1h")},
            in("above_tokens") * kMillion,
            {in("input_above"), in("output_above"), in("cache_read_above"), in("cache_write_above"), kUnknown}};
    row.above_tokens = std::isnan(row.above_tokens) ? 0 : row.above_tokens;
    row.above.cache_write_1h = row.price.cache_write_1h * row.above.input / row.price.input;
    const std::string model = in_lower_case(told["model"]);
    if (model.empty() || !is_number) {
      return model.empty() ? "it names no model" : "a price is a number of dollars for a million tokens";
    }
    rows.insert_or_assign(model, row);
    return "";
  });
  lists_.push_back(std::move(rows));
  return done;
}

const Prices::Row* Prices::find_in(const List& list, std::string_view name) {
  for (std::size_t end = name.size(); end > 0; --end) {
    if (end == name.size() || ends_name(name[end])) {
      if (const auto found = list.find(name.substr(0, end)); found != list.end()) {
        return &found->second;
      }
    }
  }
  return nullptr;
}

const Prices::Row* Prices::find(std::string_view model) const {
  const std::string whole = in_lower_case(model);
  const std::string_view name = whole;
  const std::string_view behind_slash = name.substr(name.rfind('/') + 1);
  constexpr std::string_view kVendor = "anthropic.";
  const std::size_t vendor = behind_slash.rfind(kVendor);
  const std::string_view behind_vendor =
      behind_slash.substr(vendor == std::string_view::npos ? 0 : vendor + kVendor.size());
  for (auto list = lists_.rbegin(); list != lists_.rend(); ++list) {
    for (const std::string_view one : {name, behind_slash, behind_vendor}) {
      if (const Row* row = find_in(*list, one)) {
        return row;
      }
    }
  }
  return nullptr;
}

std::optional<double> Prices::cost_of(std::string_view model, const Usage& usage) const {
  const Row* const row = find(model);
  if (row == nullptr) {
    return std::nullopt;
  }
  Usage told = usage;
  told.output = 0;
  const bool is_above = row->above_tokens > 0 && tokens_told(told) > row->above_tokens;
  const Price& price = is_above ? row->above : row->price;
  const double written = std::isnan(usage.cache_write) ? 0 : usage.cache_write;
  const double for_an_hour =
      std::isnan(usage.cache_write_1h) ? 0 : std::clamp(usage.cache_write_1h, 0.0, std::max(0.0, written));
  const double cost = cost_of_tokens(usage.input, price.input) + cost_of_tokens(usage.output, price.output) +
                      cost_of_tokens(usage.cache_read, price.cache_read) +
                      cost_of_tokens(written - for_an_hour, price.cache_write) +
                      cost_of_tokens(for_an_hour, price.cache_write_1h);
  return cost <= kMostDollars ? std::optional(cost) : std::nullopt;  // nor NaN
}

std::string date_of_prices() {
  constexpr std::size_t kDate = std::string_view("2026-07-24").size();
  const std::string_view comment = kPriceList.substr(0, kPriceList.find('\n'));
  const std::size_t at = comment.find("published on ");
  return at == std::string_view::npos
             ? ""
             : std::string(comment.substr(at + std::string_view("published on ").size(), kDate));
}

}  // namespace arborfs
