// arborfs stats: tokens and cost by day, project, model, agent, session or host.
#include "core/views/stats.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/columns.h"
#include "core/base/error.h"
#include "core/entry/text.h"
#include "core/search/period.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/choice.h"
#include "tools/arborfs/costs.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/progress.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

using stats::By;

constexpr std::size_t kBarColumns = 20;
constexpr std::size_t kLeastBarColumns = 6;  // those of its heading
constexpr std::size_t kGap = 2;              // between the columns of a table

By by_of(const CommandLine& line) {
  return stats::by_named(line.by).value_or(By::day);
}

std::string heading_of(By by) {
  std::string heading(stats::kByNames.at(static_cast<std::size_t>(by)));
  std::transform(heading.begin(), heading.end(), heading.begin(), [](char c) { return static_cast<char>(c - 32); });
  return heading;
}

std::string count_words(double number) {
  return std::isnan(number) ? "-" : grouped(token_count(number));
}

/// The row's part of the longest one, whose bar has so many columns, in eighths of a column.
std::string bar(double tokens, double most, std::size_t columns) {
  constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double part = most > 0 ? tokens / most : 0;
  const double most_eighths = static_cast<double>(columns) * 8;
  const auto eighths = static_cast<std::size_t>(std::ceil(part > 0 ? std::min(part, 1.0) * most_eighths : 0));
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) {
    text += "█";
  }
  return text.append(kEighths[eighths % 8]);
}

/// What people know a session by: its id, on a terminal as short as in `ls`, and its name.
std::vector<std::string> session_cells(const std::string& id, const Catalog& catalog, const Terminal& io) {
  const auto session = catalog.find(id);
  return {io.out_is_terminal ? short_id(*catalog.view(), id) : id,
          session ? session_name(**session, kTitleCharacters) : ""};
}

std::vector<std::string> number_cells(const stats::Row& row) {
  const Usage& usage = row.usage;
  return {grouped(row.messages),         count_words(usage.input),       count_words(usage.output),
          count_words(usage.cache_read), count_words(usage.cache_write), stats::cost_words(row)};
}

/// The table without bars: the rows and the total.
Table table_of(const std::vector<stats::Row>& rows, const stats::Row& total, By by, const Catalog& catalog,
               const Terminal& io) {
  std::vector<Table::Column> columns{{"MESSAGES", true, false, 3},    {"INPUT", true, false, 4},
                                     {"OUTPUT", true, false, 5},      {"CACHE READ", true, false, 2},
                                     {"CACHE WRITE", true, false, 1}, {"COST", true}};
  if (by == By::session) {
    columns.insert(columns.begin(), {{"SESSION"}, {"TITLE", false, true}});
  } else {
    columns.insert(columns.begin(), {heading_of(by), false, true});
  }
  Table table(columns);
  const auto add = [&table](std::vector<std::string> names, const stats::Row& row) {
    const auto numbers = number_cells(row);
    names.insert(names.end(), numbers.begin(), numbers.end());
    table.add(std::move(names));
  };
  for (const stats::Row& row : rows) {
    add(by == By::session ? session_cells(row.name, catalog, io)
                          : std::vector<std::string>{visible_line(row.name, kTitleCharacters)},
        row);
  }
  add(by == By::session ? std::vector<std::string>{total.name, ""} : std::vector<std::string>{total.name}, total);
  return table;
}

/// The columns that the whole table leaves for the bars; 0 if they are too few, or on no terminal.
std::size_t bar_columns(const Table& table, const Terminal& io) {
  if (!io.out_is_terminal) {
    return 0;
  }
  std::size_t used = kGap;
  for (const std::string& line : table.lines(0)) {
    used = std::max(used, columns_of(line) + kGap);
  }
  const std::size_t left = io.width == 0 ? kBarColumns : io.width - std::min(io.width, used);
  return left < kLeastBarColumns ? 0 : std::min(left, kBarColumns);
}

/// The heading of the bars, one for each row, and nothing for the total; empty without bars. They show the money, or
/// the tokens if nothing has a cost.
std::vector<std::string> bars_of(const std::vector<stats::Row>& rows, std::size_t columns) {
  if (columns == 0) {
    return {};
  }
  const bool has_cost = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.usage.cost > 0; });
  const auto length = [has_cost](const stats::Row& row) {
    return !has_cost ? tokens_told(row.usage) : std::isnan(row.usage.cost) ? 0 : row.usage.cost;
  };
  double most = 0;
  for (const stats::Row& row : rows) {
    most = std::max(most, length(row));
  }
  std::vector<std::string> bars{has_cost ? "MONEY" : "TOKENS"};
  for (const stats::Row& row : rows) {
    bars.push_back(bar(length(row), most, columns));
  }
  bars.emplace_back();
  return bars;
}

void print_table(const stats::Stats& found, By by, const Catalog& catalog, Terminal& io) {
  const auto rows = found.rows(by);
  stats::Row total = found.total();
  total.name = "total";
  const Table table = table_of(rows, total, by, catalog, io);
  const auto bars = bars_of(rows, bar_columns(table, io));
  const auto lines = table.lines(io.out_is_terminal ? io.width : 0);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool is_bold = i == 0 || i + 1 == lines.size();
    const std::string end = bars.empty() || bars[i].empty() ? "" : std::string(kGap, ' ') + bars[i];
    io.out << styled(io, is_bold ? Style::bold : Style::plain, lines[i] + end) << "\n";
  }
}

void print_json(const stats::Stats& found, By by, Terminal& io) {
  auto all = JsonText::lines();
  for (const stats::Row& row : found.rows(by)) {
    all.item_json(stats::json_row(row, by));
  }
  io.out << terminal_safe_json(all.str()) << "\n";
}

Result<stats::Stats> gather(const CommandLine& line, const Catalog& catalog, Terminal& io) {
  ASSIGN_OR_RETURN(const auto chosen, chosen_sessions(line, catalog));
  std::vector<stats::Counted> sessions;
  sessions.reserve(chosen.size());
  for (const Listed& of : chosen) {
    sessions.push_back({of.session, of.project->name, of.id});
  }
  stats::Options options;
  options.since_ms = start_of(line.period.empty() ? line.since : line.period);
  options.until_ms = end_of(line.period.empty() ? line.until : line.period);
  Progress progress(io, "reading sessions", sessions.size());
  options.step = [&progress] { progress.step(); };
  return stats::gather(std::move(sessions), options);
}

}  // namespace

int run_stats(const CommandLine& line, Terminal& io) {
  const auto catalog = open_catalog(line, io);
  if (!catalog) {
    return fail(io, catalog.error());
  }
  const auto found = gather(line, **catalog, io);
  if (!found) {
    return fail(io, found.error());
  }
  const By by = by_of(line);
  line.json ? print_json(*found, by, io) : print_table(*found, by, **catalog, io);
  if (!line.json) {
    explain_costs(found->total(), io);
  }
  if (found->unreadable() > 0) {
    io.err << "arborfs: " << counted(found->unreadable(), "session") << " could not be read; see arborfs doctor\n";
  }
  return kDone;
}

}  // namespace arborfs::cli
