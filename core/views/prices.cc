#include "core/views/prices.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/os/file.h"
#include "core/os/state_dir.h"

namespace arborfs {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kMillion = 1e6;
constexpr double kMostDollars = 1e9;  // of one request; more is no number of tokens
constexpr std::uint64_t kLongestList = 1 << 20;
constexpr const char* kOwnFile = "prices.tsv";

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find('\t', at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

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

std::string lower(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lowered;
}

/// The columns of a list.
class Columns {
 public:
  explicit Columns(const std::vector<std::string_view>& names) : names_(names.begin(), names.end()) {}

  [[nodiscard]] bool has(std::string_view name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }
  /// "" for a column that the list, or this line, lacks.
  [[nodiscard]] std::string_view text(const std::vector<std::string_view>& fields, std::string_view name) const {
    const auto at = static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
    return at < fields.size() && at < names_.size() ? fields[at] : std::string_view();
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace

PricesPtr Prices::in_force() {
  auto prices = std::make_shared<Prices>();
  if (const auto added = prices->add(kPriceList); !added) {
    write_log(LogLevel::error, "the list of prices: " + added.error().message);
  }
  const auto dir = Dir::open_root(config_path(""));
  const auto file = dir ? File::open_in(*dir, kOwnFile) : Result<File>(dir.error());
  if (!file && file.error().code == Errc::not_found) {
    return prices;
  }
  prices->own_ = config_path(kOwnFile);
  const auto text = file ? file->read(0, kLongestList) : Result<std::string>(file.error());
  if (const auto added = text ? prices->add(*text) : Result<void>(text.error()); !added) {
    prices->problem_ = prices->own_ + ": " + added.error().message;
    write_log(LogLevel::warning, prices->problem_);
  }
  return prices;
}

Result<void> Prices::add(std::string_view list) {
  List rows;
  std::optional<Columns> columns;
  Result<void> done;
  const auto refuse = [&done](std::size_t line, const std::string& what) {
    done = done ? Result<void>(Errc::invalid_argument, "line " + std::to_string(line) + ": " + what) : done;
  };
  std::size_t number = 0;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find('\n', at), list.size());
    std::string_view line = list.substr(at, end - at);
    line = line.substr(0, line.find_last_not_of('\r') + 1);
    at = end + 1;
    ++number;
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    const auto fields = fields_of(line);
    if (!columns) {
      columns.emplace(fields);
      if (!columns->has("model") || !columns->has("input")) {
        refuse(number, "the first line names the columns, among them model and input, with tabs between them");
        break;
      }
      continue;
    }
    bool is_number = true;
    const auto in = [&](std::string_view column) {
      const auto told = number_in(columns->text(fields, column));
      is_number = is_number && told.has_value();
      return told.value_or(kUnknown) / kMillion;
    };
    Row row{{in("input"), in("output"), in("cache_read"), in("cache_write"), in("cache_write_1h")},
            in("above_tokens") * kMillion,
            {in("input_above"), in("output_above"), in("cache_read_above"), in("cache_write_above"), kUnknown}};
    row.above_tokens = std::isnan(row.above_tokens) ? 0 : row.above_tokens;
    row.above.cache_write_1h = row.price.cache_write_1h * row.above.input / row.price.input;
    const std::string model = lower(columns->text(fields, "model"));
    if (model.empty() || !is_number) {
      refuse(number, model.empty() ? "it names no model" : "a price is a number of dollars for a million tokens");
      continue;
    }
    rows.insert_or_assign(model, row);
  }
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
  const std::string whole = lower(model);
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
