// arborfs search: the sessions whose texts contain all words of a query.
#include "core/search/search.h"

#include <algorithm>
#include <utility>

#include "core/base/columns.h"
#include "core/base/error.h"
#include "core/entry/text.h"
#include "core/json/date.h"
#include "core/os/state_dir.h"
#include "core/search/period.h"
#include "core/search/report.h"
#include "core/search/search_index.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/choice.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/progress.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kMatchesOnTerminal = 10;
constexpr std::size_t kHitsShown = 3;         // of each session, as text
constexpr std::size_t kExcerptIndent = 6;     // of an excerpt below the name of its file, with its ellipses
constexpr std::size_t kShortestExcerpt = 20;  // characters
constexpr std::size_t kHitsInJson = 20;       // of each session

std::string project_of(const CommandLine& line, const Catalog& catalog) {
  const std::string folder = line.project.empty() ? "" : project_meant(line.project, catalog).folder();
  return folder.empty() ? line.project : folder;
}

std::string time_text(std::optional<std::int64_t> milliseconds) {
  return milliseconds ? json::iso_time(*milliseconds) : "";
}

/// The query of the command line, whose options are filters; "" without one.
Result<std::string> query_of(const CommandLine& line, const Catalog& catalog) {
  std::string text = line.query_text();
  const std::pair<const char*, std::string> filters[] = {{"agent", line.agent},
                                                         {"project", project_of(line, catalog)},
                                                         {"title", line.title},
                                                         {"tag", line.tag},
                                                         {"path", line.path},
                                                         {"role", line.role},
                                                         {"tool", line.tool},
                                                         {"label", line.label},
                                                         {"after", time_text(start_of(line.since))},
                                                         {"before", time_text(end_of(line.until))}};
  for (const auto& [name, value] : filters) {
    if (value.find('"') != std::string::npos) {
      return Error{Errc::invalid_argument, std::string("the filter ") + name + ": cannot contain a quotation mark"};
    }
    text += value.empty() ? "" : std::string(text.empty() ? "" : " ") + name + ":\"" + value + "\"";
  }
  return text;
}

void print_match(const search::ShownMatch& shown, Terminal& io) {
  const search::Match& match = shown.match;
  const std::string title = session_name(*match.shown->session(), kTitleCharacters);
  const std::size_t width = io.out_is_terminal && io.width > 0 ? io.width : SIZE_MAX;
  const std::string facts =
      "  " + std::string(shown.session.agent) + "  " + time_words(shown.session.mtime_ns) + "  " + title;
  io.out << styled(io, Style::bold, cut_middle(shown.path, width)) << "\n" << cut(facts, width) << "\n";
  const StyleCodes mark = codes_of(io, Style::mark);
  for (std::size_t i = 0; i < std::min(match.hits.size(), kHitsShown); ++i) {
    const search::Hit& hit = match.hits[i];
    const std::string where = cut_middle("  text/" + hit.stem + ".md:", width);
    const bool is_long = columns_of(where) + 1 + columns_of(search::marked(hit.excerpt, "", "")) > width;
    io.out << where << (is_long ? "\n    " : " ") << search::marked(hit.excerpt, mark.on, mark.off) << "\n";
  }
  io.out << (match.has_more ? "  and more\n" : "");
}

/// Reads what the names of the matches need, so that their paths are those in a mount.
Result<void> read_names(Catalog& catalog, search::Found& found) {
  std::vector<SessionPtr> sessions;
  for (const search::Match& match : found.matches) {
    sessions.push_back(match.shown->session());
  }
  RETURN_IF_ERROR(catalog.read_names_of(sessions));
  const auto named = catalog.view();
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    found.matches[i].shown = &named->where.find(sessions[i]->number())->second;
  }
  found.view = named;
  return {};
}

void print(const search::Found& found, bool json, Terminal& io) {
  auto all = JsonText::lines();
  for (std::size_t i = 0; i < found.matches.size(); ++i) {
    search::ShownMatch shown = search::shown_match(found, i);
    if (json) {
      shown.link.clear();
      std::string object;
      search::append_match_json(shown, object);
      all.item_json(object);
    } else {
      print_match(shown, io);
    }
  }
  io.out << (json ? terminal_safe_json(all.str()) + "\n" : "");
}

}  // namespace

int run_search(const CommandLine& line, Terminal& io) {
  const auto catalog = open_catalog(line, io);
  if (!catalog) {
    return fail(io, catalog.error());
  }
  const auto text = query_of(line, **catalog);
  if (text && text->empty()) {
    return misused(io, "search", "name words to search for, or a filter");
  }
  const auto query = text ? search::parse_query(*text) : text.error();
  if (!query) {
    return fail(io, query.error());
  }
  if (const auto checked = search::check_agent(**catalog, *query); !checked) {
    return fail(io, checked.error());
  }
  search::Options options;
  options.most_hits = line.json ? kHitsInJson : kHitsShown;
  if (io.out_is_terminal && io.width > kExcerptIndent) {
    options.excerpt_columns = std::clamp(io.width - kExcerptIndent, kShortestExcerpt, options.excerpt_columns);
  }
  search::SearchIndex index(cache_path(""));
  options.index = &index;
  const std::size_t usual = io.out_is_terminal && !line.json ? kMatchesOnTerminal : 0;
  const std::size_t limit = line.limit.value_or(usual);
  options.most_shown = limit == 0 ? std::nullopt : std::optional(limit);
  Progress progress(io, "searching");
  auto found = search::search(**catalog, *query, options);
  progress.done();
  if (!found) {
    return fail(io, found.error());
  }
  if (found->matches.empty()) {
    if (const auto checked = search::explain_nothing(**catalog, *query); !checked) {
      return fail(io, checked.error());
    }
  }
  const std::size_t all = found->matches.size();
  if (limit != 0 && all > limit) {
    found->matches.resize(limit);
  }
  const std::size_t shown = found->matches.size();
  if (const auto named = read_names(**catalog, *found); !named) {
    return fail(io, named.error());
  }
  print(*found, line.json, io);
  if (shown < all && io.err_is_terminal) {
    io.err << counted(all - shown, "more session") << " not shown; -n 0 shows all\n";
  }
  if (found->unreadable > 0) {
    io.err << "arborfs: " << counted(found->unreadable, "session") << " could not be read; see arborfs doctor\n";
  }
  if (all == 0 && io.err_is_terminal) {
    const std::string misspelt = search::misspelt_filter(*query);
    io.err << "no session matches; " << (misspelt.empty() ? "title:WORD finds sessions by their titles" : misspelt)
           << "\n";
  }
  return all == 0 ? kFailed : kDone;
}

}  // namespace arborfs::cli
