#include "core/stats/stats.h"

#include <algorithm>
#include <cmath>

#include "core/json/document.h"
#include "core/render/text.h"

namespace arborfs::stats {

namespace {

constexpr std::size_t kNameCharacters = 400;

std::optional<double> told(double number) {
  return std::isnan(number) ? std::nullopt : std::optional(number);
}

/// Sums of decimal fractions have noise in their last digits.
double rounded(double cost) {
  return std::round(cost * 1e6) / 1e6;
}

/// The name in one field of a table.
std::string field(const std::string& name) {
  return visible_line(name, kNameCharacters);
}

}  // namespace

std::optional<By> by_named(std::string_view name) {
  const auto* const found = std::find(kByNames.begin(), kByNames.end(), name);
  return found == kByNames.end() ? std::nullopt : std::optional(static_cast<By>(found - kByNames.begin()));
}

std::vector<Counted> all_counted(const CatalogView& view) {
  std::vector<Counted> all;
  all.reserve(view.shown.size());
  for (const ShownAt* shown : view.shown) {
    all.push_back({shown->session(), shown->project->name, view.id_of(*shown)});
  }
  return all;
}

double tokens_of(const Usage& usage) {
  double sum = 0;
  for (const double number : {usage.input, usage.output, usage.cache_read, usage.cache_write}) {
    sum += std::isnan(number) ? 0 : number;
  }
  return sum;
}

void Stats::add(const std::array<std::string, 5>& names, const Usage& usage, bool is_message) {
  const std::uint64_t messages = is_message ? 1 : 0;
  for (std::size_t by = 0; by < sums_.size(); ++by) {
    Sums& sums = sums_.at(by)[names.at(by)];
    sums.messages += messages;
    sums.totals.add(usage);
  }
  totals_.add(usage);
  total_.messages += messages;
  total_.usage = totals_.told();
}

std::vector<Row> Stats::rows(By by) const {
  std::vector<Row> rows;
  for (const auto& [name, sums] : sums_.at(static_cast<std::size_t>(by))) {
    rows.push_back({name, sums.messages, sums.totals.told()});
  }
  if (by != By::day) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return tokens_of(a.usage) > tokens_of(b.usage); });
  }
  return rows;
}

std::vector<std::pair<std::string_view, std::optional<double>>> numbers_of(const Row& row) {
  const Usage& usage = row.usage;
  return {{"messages", static_cast<double>(row.messages)},
          {"input", told(usage.input)},
          {"output", told(usage.output)},
          {"reasoning", told(usage.reasoning)},
          {"cacheRead", told(usage.cache_read)},
          {"cacheWrite", told(usage.cache_write)},
          {"cost", told(rounded(usage.cost))}};
}

std::string tsv(const Stats& stats, By by) {
  std::string text(kByNames.at(static_cast<std::size_t>(by)));
  for (const auto& [name, number] : numbers_of({})) {
    text.append("\t").append(name);
  }
  text += "\n";
  for (const Row& row : stats.rows(by)) {
    text += field(row.name);
    for (const auto& [name, number] : numbers_of(row)) {
      text += "\t" + (number ? json::number_text(*number) : "");
    }
    text += "\n";
  }
  return text;
}

std::string json_row(const Row& row, By by) {
  std::string text = "{\"";
  text.append(kByNames.at(static_cast<std::size_t>(by))).append("\":");
  json::stringify_string(row.name, text);
  for (const auto& [name, number] : numbers_of(row)) {
    if (number) {
      text.append(",\"").append(name).append("\":").append(json::number_text(*number));
    }
  }
  return text + "}";
}

}  // namespace arborfs::stats
