#include "core/views/overview_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/words.h"
#include "core/entry/names.h"
#include "core/entry/text.h"
#include "core/html/html.h"
#include "core/html/page.h"
#include "core/log/log_reader.h"
#include "core/session/notes.h"
#include "core/views/prices.h"

namespace arborfs {
namespace {

using html::text;

constexpr std::size_t kIndexWords = 120;
constexpr std::size_t kMostRows = 200;
constexpr std::size_t kMostDays = 62;

std::string number_cell(std::uint64_t number) {
  return "<td class=\"number\">" + (number == 0 ? "" : grouped(number)) + "</td>";
}

std::uint64_t all_tokens(const stats::Row& row) {
  return token_count(tokens_told(row.usage));
}

std::string cost_cell(const stats::Row& row) {
  const std::string cost = stats::cost_words(row);
  return "<td class=\"number\">" + text(cost == "-" ? "" : cost) + "</td>";
}

/// The title, or the words in the name of the session's folder, which has the time before them.
std::string words_of(const ShownAt& place) {
  std::string title = visible_line(place.session()->title(), kIndexWords);
  if (!title.empty()) {
    return title;
  }
  constexpr std::string_view kTime = "2026-02-16T09-12-";
  const std::string& name = place.name();
  const bool has_time =
      name.size() > kTime.size() && name[4] == '-' && name[10] == 'T' && name[kTime.size() - 1] == '-';
  title = has_time ? name.substr(kTime.size()) : name;
  std::replace(title.begin(), title.end(), '-', ' ');
  return title;
}

struct Listed {
  const ShownAt* place;
  std::int64_t time_ms;
};

std::string row_of(const CatalogView& view, const Listed& one) {
  const Session& session = *one.place->session();
  const std::string day = local_time(one.time_ms, "%Y-%m-%d %H:%M");
  std::string tags;
  for (const std::string& tag : tags_of(session, *session.noted())) {
    tags += (tags.empty() ? "" : ", ") + tag;
  }
  std::string out = "<tr data-item=\"" + text(one.place->project->name) + "\"><td class=\"day\">" + text(day) +
                    "</td><td class=\"session\"><a href=\"" + names::address(view.path_of(*one.place)) +
                    "/transcript.html\">" + text(words_of(*one.place)) + "</a></td><td class=\"agent\">" +
                    text(session.agent()) + "</td><td class=\"tags\">" + text(tags) + "</td>";
  return out + "</tr>\n";
}

}  // namespace

std::string index_page(const CatalogView& view) {
  std::size_t sessions = 0;
  std::string sections;
  for (const ProjectPtr& project : view.projects) {
    std::vector<Listed> all;
    for (const auto& [name, session] : project->sessions) {
      if (const auto place = view.where.find(session->number()); place != view.where.end()) {
        all.push_back({&place->second, session->mtime_ns() / kNanosPerMilli});
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Listed& a, const Listed& b) { return a.time_ms > b.time_ms; });
    sessions += all.size();
    sections += "<section data-group>\n<h2>" + text(project->cwd.empty() ? project->name : project->cwd) +
                "</h2>\n<table class=\"list\"><thead><tr><th>last "
                "written</th><th>session</th><th>agent</th><th>tags</th></tr></thead>"
                "<tbody>\n";
    for (const Listed& one : all) {
      sections += row_of(view, one);
    }
    sections += "</tbody></table>\n</section>\n";
  }
  std::string out = html::page_begin({"Sessions", "wide"}) +
                    "<header class=\"top\">\n<h1>Sessions</h1>\n<p class=\"facts\">" + counted(sessions, "session") +
                    " in " + counted(view.projects.size(), "project") + "</p>\n" +
                    html::link_list({{"tokens and money", "stats.html"}}, "Other pages") + "</header>\n";
  std::string filters;
  for (const std::string_view of : {"project", "agent", "tags", "day"}) {
    const std::string word(of == "tags" ? "tag" : of);
    filters += "<label class=\"needs-script\">" + word + " <select data-of=\"" + std::string(of) +
               "\"><option value=\"\">all</option></select></label>\n";
  }
  out += html::find_bar("Find sessions by words, project, agent, tag or day", filters);
  return out + "<main id=\"main\">\n" + sections + "</main>\n" + html::page_end(false);
}

namespace {

/// Bars, one a row, with the row's name and number when pointed at and in the table below.
std::string chart(const std::vector<stats::Row>& rows, std::string_view label, double (*value)(const stats::Row&)) {
  constexpr double kWidth = 1000;
  constexpr double kHeight = 160;
  double most = 0;
  for (const stats::Row& row : rows) {
    most = std::max(most, value(row));
  }
  if (most <= 0) {
    return "";
  }
  const double step = kWidth / static_cast<double>(rows.size());
  const auto number = [](double place) { return fmt::format("{:.2f}", place); };
  std::string out = "<figure><figcaption>" + std::string(label) +
                    "</figcaption><svg class=\"chart\" role=\"img\" aria-label=\"" + std::string(label) +
                    "\" viewBox=\"0 0 1000 160\">\n";
  double left = 0;
  for (const stats::Row& row : rows) {
    const double height = std::max(value(row) / most * kHeight, value(row) > 0 ? 1.0 : 0.0);
    out += "<rect x=\"" + number(left) + "\" y=\"" + number(kHeight - height) + "\" width=\"" +
           number(std::max(step - 2, 1.0)) + "\" height=\"" + number(height) + "\"><title>" + text(row.name) +
           "</title></rect>\n";
    left += step;
  }
  out += "</svg>\n<p class=\"ends\"><span>" + text(rows.front().name) + "</span>";
  out += rows.size() < 2 ? "" : "<span>" + text(rows.back().name) + "</span>";
  return out + "</p></figure>\n";
}

/// The name of a row; of a session its words with a link.
std::string name_cell(const CatalogView& view, const std::string& name, stats::By by) {
  const auto found = by == stats::By::session ? view.named(name) : nullptr;
  const auto place = found == nullptr ? view.where.end() : view.where.find(found->number());
  return place == view.where.end() ? text(visible_line(name, kIndexWords))
                                   : "<a href=\"" + names::address(view.path_of(place->second)) +
                                         "/transcript.html\">" + text(words_of(place->second)) + "</a>";
}

/// A bar as long as the row's part of all tokens.
std::string share_cell(const stats::Row& row, std::uint64_t all) {
  const double share = all == 0 ? 0 : 100 * static_cast<double>(all_tokens(row)) / static_cast<double>(all);
  return fmt::format(
      "<td class=\"share\"><svg role=\"img\" aria-label=\"{:.0f} %\" viewBox=\"0 0 100 8\" "
      "preserveAspectRatio=\"none\"><rect width=\"{:.1f}\" height=\"8\"></rect></svg></td>",
      share, share);
}

std::string table(const CatalogView& view, const stats::Stats& stats, stats::By by) {
  const std::string name(stats::kByNames.at(static_cast<std::size_t>(by)));
  auto rows = stats.rows(by);
  const std::size_t all = rows.size();
  if (by == stats::By::day) {
    std::reverse(rows.begin(), rows.end());
  }
  rows.resize(std::min(rows.size(), kMostRows));
  std::string out = "<section data-group>\n<h2>By " + name + "</h2>\n<table tabindex=\"0\"><thead><tr><th>" + name +
                    "</th><th>messages</th><th>tokens</th><th>of all</th><th>cost in $</th></tr></thead><tbody>\n";
  for (const stats::Row& row : rows) {
    out += "<tr data-item=\"" + name + "\"><td class=\"" + name + "\">" + name_cell(view, row.name, by) + "</td>" +
           number_cell(row.messages) + number_cell(all_tokens(row)) + share_cell(row, all_tokens(stats.total())) +
           cost_cell(row) + "</tr>\n";
  }
  return out + "</tbody></table>\n" +
         (all > rows.size()
              ? "<p class=\"note\">" + counted(all - rows.size(), "row") + " with fewer tokens are left out.</p>\n"
              : "") +
         "</section>\n";
}

}  // namespace

std::string stats_page(const CatalogView& view, const stats::Stats& stats) {
  const stats::Row& total = stats.total();
  auto days = stats.rows(stats::By::day);
  if (days.size() > kMostDays) {
    days.erase(days.begin(), days.end() - static_cast<std::ptrdiff_t>(kMostDays));
  }
  std::string out = html::page_begin({"Tokens and money", "wide"}) +
                    "<header class=\"top\">\n<h1>Tokens and money</h1>\n<dl class=\"facts\">\n" +
                    html::fact("messages", grouped(total.messages)) + html::fact("tokens", grouped(all_tokens(total))) +
                    html::fact("cost in $", stats::cost_words(total)) + "</dl>\n";
  out += total.computed > 0 ? "<p class=\"note\">~ marks a cost that is computed by list prices of " +
                                  text(date_of_prices()) + ".</p>\n"
                            : "";
  out += total.without_cost > 0
             ? "<p class=\"note\">" + counted(total.without_cost, "message") + " without a price.</p>\n"
             : "";
  out += stats.unreadable() > 0
             ? "<p class=\"note\">" + counted(stats.unreadable(), "session") + " could not be read.</p>\n"
             : "";
  out += html::link_list({{"all sessions", "index.html"}}, "Other pages") + "</header>\n";
  out += html::find_bar("Find in the tables") + "<main id=\"main\">\n";
  out += chart(days, "Tokens by day", [](const stats::Row& row) { return static_cast<double>(all_tokens(row)); });
  out += chart(days, "Money by day",
               [](const stats::Row& row) { return std::isnan(row.usage.cost) ? 0.0 : row.usage.cost; });
  for (const stats::By by :
       {stats::By::day, stats::By::project, stats::By::model, stats::By::agent, stats::By::session}) {
    out += table(view, stats, by);
  }
  return out + "</main>\n" + html::page_end(false);
}

}  // namespace arborfs
