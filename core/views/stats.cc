#include "core/views/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/wanted.h"
#include "core/entry/text.h"
#include "core/json/document.h"
#include "core/views/overview_pages.h"

namespace arborfs::stats {

namespace {

constexpr std::size_t kNameCharacters = 400;

std::optional<double> told(double number) {
  return std::isnan(number) ? std::nullopt : std::optional(number);
}

/// The name in one field of a table.
std::string field(const std::string& name) {
  return visible_line(name, kNameCharacters);
}

}  // namespace

std::string cost_words(const Row& row) {
  const double cost = row.usage.cost;
  return std::isnan(cost) ? "-"
                          : fmt::format("{}{:.{}f}{}", row.computed > 0 ? "~" : "", cost, cost < 1 ? 4 : 2,
                                        row.has_partial_cost() ? "+" : "");
}

double rounded_cost(double cost) {
  return std::round(cost * 1e6) / 1e6;
}

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

void Row::add(const Addend& addend) {
  messages += static_cast<std::uint64_t>(addend.messages);
  without_cost += static_cast<std::uint64_t>(addend.without_cost);
  add_usage(usage, addend.usage);
  computed += static_cast<std::uint64_t>(addend.computed);
  computed_cost += addend.computed_cost;
}

void Stats::add(const Names& names, const Addend& addend) {
  for (std::size_t by = 0; by < sums_.size(); ++by) {
    sums_.at(by)[names.at(by)].add(addend);
  }
  total_.add(addend);
}

std::vector<Row> Stats::rows(By by) const {
  std::vector<Row> rows;
  for (const auto& [name, row] : sums_.at(static_cast<std::size_t>(by))) {
    rows.push_back(row);
    rows.back().name = name;
  }
  if (!is_time(by)) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return tokens_told(a.usage) > tokens_told(b.usage); });
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
          {"cost", told(rounded_cost(usage.cost))},
          {"messagesWithoutCost",
           row.has_partial_cost() ? std::optional(static_cast<double>(row.without_cost)) : std::nullopt},
          {"computedCost", row.computed > 0 ? std::optional(rounded_cost(row.computed_cost)) : std::nullopt}};
}

std::string with_computed_cost(std::string usage, const SessionUse& use) {
  if (use.row.computed == 0 || !usage.ends_with('}')) {
    return usage;
  }
  usage.pop_back();
  usage += usage.ends_with('{') ? "" : ",";
  usage += "\"computedCost\":" + json::number_text(rounded_cost(use.row.computed_cost));
  if (use.row.without_cost > 0) {
    usage += ",\"messagesWithoutPrice\":" + std::to_string(use.row.without_cost);
  }
  usage += ",\"pricesOf\":";
  json::stringify_string(date_of_prices(), usage);
  return usage + "}";
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

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSentenceCharacters = 8192;

using Texts = decltype(ShownStats::texts);

Result<Texts> texts_of(const Catalog& catalog, const Hanging& hanging) {
  const auto view = catalog.view();
  auto counted = all_counted(*view);
  std::erase_if(counted, [&](const Counted& of) { return catalog.is_in(*of.session, hanging); });
  Options options;
  ASSIGN_OR_RETURN(const Stats found, gather(std::move(counted), options));
  Texts texts;
  for (std::size_t at = 0; at < kShown.size(); ++at) {
    texts.at(at) = tsv(found, kShown.at(at));
    for (const auto& [submount, sentence] : hanging.submounts) {
      texts.at(at) += "# Not counted: " + visible_line(sentence, kSentenceCharacters) + "\n";
    }
  }
  texts.at(kStatsPage) = stats_page(*view, found);
  return texts;
}

bool is_fresh(const ShownStats& made, Catalog& catalog) {
  return catalog.feed().is_fresh(made.sequence, made.ended);
}

}  // namespace

ShownStatsPtr RecentStats::known() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

ShownStatsPtr RecentStats::fresh(Catalog& catalog) const {
  auto made = known();
  return made && is_fresh(*made, catalog) ? made : nullptr;
}

Result<ShownStatsPtr> RecentStats::sum_up(Catalog& catalog) {
  const auto asked = Clock::now();
  const SingleFlight::Turn turn(sums_, 0, Wanted::here());
  if (!turn.has()) {
    return Error{Errc::interrupted, "the sum was cancelled"};
  }
  if (auto made = known(); made && (made->begun >= asked || is_fresh(*made, catalog))) {
    return made;
  }
  return run(catalog);
}

Result<ShownStatsPtr> RecentStats::run(Catalog& catalog) {
  ShownStats made;
  made.begun = Clock::now();
  made.sequence = catalog.feed().last_sequence();
  ASSIGN_OR_RETURN(made.texts, catalog.beside_hanging<Texts>(
                                   [&catalog](const auto& hanging) { return texts_of(catalog, hanging); }));
  made.ended = Clock::now();
  return keep(std::move(made));
}

ShownStatsPtr RecentStats::keep(ShownStats made) {
  const std::lock_guard lock(mutex_);
  const bool is_same = last_ && last_->texts == made.texts;
  made.version = is_same ? last_->version : ++last_version_;
  made.made_ns = is_same ? last_->made_ns : now_ns();
  last_ = std::make_shared<const ShownStats>(std::move(made));
  return last_;
}

}  // namespace arborfs::stats
