#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/entry/names.h"
#include "core/entry/text.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/search/period.h"
#include "core/session/liveness.h"
#include "core/views/session_facts.h"
#include "core/views/stats.h"
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

constexpr std::size_t kRowsOnTerminal = 30;

struct Row {
  Listed of;
  Session::Head head;
  std::string words;  // the opening words, for a session without a title
  std::string state;
  std::vector<Mark> marks;
  std::optional<stats::SessionUse> use;   // if --cost or --model is given
  std::vector<std::string> labelled;      // the entries with the label of --label, as their files are named
  std::optional<std::uint64_t> occupied;  // if --size is given; nothing if it cannot be read
};

Row read_row(const Listed& of, const Catalog& catalog, const AgentLook& look) {
  Row row{of, of.session->head(), "", "", {}, std::nullopt, {}, std::nullopt};
  if (row.head.header.title.empty() && row.head.problem.empty()) {
    row.words = opening_words(*of.session, kTitleCharacters).text;
  }
  row.state = liveness_word(check_liveness(*of.session, catalog, look).state);
  for (const Mark mark : {Mark::archived, Mark::pinned}) {
    if (is_marked(of.session->store(), of.session->place(), mark)) {
      row.marks.push_back(mark);
    }
  }
  return row;
}

/// The size of a session in a database is not known before it is read.
bool has_size(const Row& row) {
  return row.head.stat.size > 0 || !head_problem(row.head).empty();
}

std::string title_of(const Row& row) {
  if (const std::string problem = head_problem(row.head); !problem.empty()) {
    return "! " + visible_line(problem, kTitleCharacters);
  }
  const std::string title = visible_line(row.head.header.title, kTitleCharacters);
  return !title.empty() ? title : !row.words.empty() ? row.words : std::string(kNoConversation);
}

bool shows_size(const CommandLine& line) {
  return line.size || line.sort == "size";
}

bool shows_cost(const CommandLine& line) {
  return line.cost || line.sort == "cost";
}

double cost_of(const Row& row) {
  return row.use ? row.use->row.usage.cost : std::numeric_limits<double>::quiet_NaN();
}

/// The models and the cost.
void add_use(const Row& row, JsonText& json) {
  auto models = JsonText::array();
  for (const std::string& model : row.use->models) {
    models.item(model);
  }
  const double cost = cost_of(row);
  json.add_json("models", models.str());
  json.add_json("cost", std::isnan(cost) ? "null" : json::number_text(stats::rounded_cost(cost)));
  if (row.use->row.has_partial_cost()) {
    json.add("messagesWithoutCost", row.use->row.without_cost);
  }
  if (row.use->row.computed > 0) {
    json.add_json("computedCost", json::number_text(stats::rounded_cost(row.use->row.computed_cost)));
  }
}

std::string json_row(const Row& row, const CommandLine& line) {
  auto json = JsonText::object();
  json.add("session", row.of.id)
      .add("agent", row.of.session->agent())
      .add("project", row.of.project->name)
      .add("cwd", row.head.header.cwd);
  json.add("title", row.head.header.title).add("firstMessage", row.words);
  json.add_json("tags", JsonText::array_of(tags_of(*row.of.session, *row.of.session->noted())).str())
      .add("startedBy", row.of.starter);
  has_size(row) ? json.add("bytes", row.head.stat.size) : json.add_json("bytes", "null");
  json.add("modified", json::iso_time(row.of.mtime_ns / 1'000'000));
  if (row.use) {
    add_use(row, json);
  }
  if (shows_size(line)) {
    row.occupied ? json.add("occupied", *row.occupied) : json.add_json("occupied", "null");
  }
  if (!row.labelled.empty()) {
    json.add_json("labelled", JsonText::array_of(row.labelled).str());
  }
  for (const Mark mark : row.marks) {
    json.add(mark_name(mark), true);
  }
  json.add("state", row.state).add("problem", head_problem(row.head)).add("log", log_path(*row.of.session));
  return json.str();
}

void print_json(const std::vector<Row>& rows, const CommandLine& line, Terminal& io) {
  auto all = JsonText::lines();
  for (const auto& row : rows) {
    all.item_json(json_row(row, line));
  }
  io.out << terminal_safe_json(all.str()) << "\n";
}

/// "archived" for a session that is nothing else: most are quiet.
std::string state_words(const Row& row) {
  std::string words = row.state == liveness_word(Liveness::State::quiet) && !row.marks.empty() ? "" : row.state;
  for (const Mark mark : row.marks) {
    words += (words.empty() ? "" : ", ") + std::string(mark_name(mark));
  }
  return words;
}

Style style_of(const Row& row) {
  return !head_problem(row.head).empty() ? Style::red
         : row.state == "live"           ? Style::green
         : row.state == "maybe"          ? Style::yellow
                                         : Style::plain;
}

void print_table(const std::vector<Row>& rows, const CommandLine& line, const Catalog& catalog, Terminal& io) {
  std::vector<Table::Column> columns{{"MODIFIED", false, false, 5}, {"SESSION"},
                                     {"AGENT", false, false, 3},    {"PROJECT", false, true, 4},
                                     {"TITLE", false, true},        {"SIZE", true, false, 1},
                                     {"STATE", false, false, 2}};
  if (shows_size(line)) {
    columns.insert(std::prev(columns.end()), {"OCCUPIES", true, false, 6});
  }
  if (shows_cost(line)) {
    columns.insert(std::prev(columns.end()), {"COST", true, false, 7});
  }
  if (!line.label.empty()) {
    columns.push_back({"ENTRY", false, true});
  }
  Table table(columns);
  const auto view = catalog.view();
  const std::int64_t now = now_ns();
  for (const auto& row : rows) {
    std::vector<std::string> cells{io.out_is_terminal ? age_words(row.of.mtime_ns, now) : time_words(row.of.mtime_ns),
                                   short_id(*view, row.of.id),
                                   std::string(row.of.session->agent()),
                                   row.of.project->name,
                                   title_of(row),
                                   has_size(row) ? size_words(row.head.stat.size) : "-",
                                   state_words(row)};
    if (shows_size(line)) {
      cells.insert(std::prev(cells.end()), row.occupied ? size_words(*row.occupied) : "-");
    }
    if (shows_cost(line)) {
      cells.insert(std::prev(cells.end()), row.use ? stats::cost_words(row.use->row) : "-");
    }
    if (!line.label.empty()) {
      cells.push_back(join_words(row.labelled));
    }
    table.add(std::move(cells));
  }
  if (rows.empty() && io.out_is_terminal) {
    const std::string why = line.state.empty()
                                ? "there are no sessions; 'arborfs stores' says where they are looked for"
                                : "no session is " + line.state;
    io.err << (io.err_is_terminal ? why + "\n" : "");
    return;
  }
  const auto lines = table.lines(io.out_is_terminal ? io.width : 0);
  io.out << styled(io, Style::bold, lines[0]) << "\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    io.out << styled(io, style_of(rows[i]), lines[i + 1]) << "\n";
  }
}

/// How many of the sessions were started by one of them whose cost has theirs too.
std::size_t counted_twice(const std::vector<Row>& rows) {
  std::unordered_map<std::string_view, const Row*> by_id;
  for (const Row& row : rows) {
    by_id.emplace(row.of.id, &row);
  }
  const auto is_in_starters = [&](const Row& row) {
    const Row* above = &row;
    for (std::size_t level = 0; level < rows.size(); ++level) {  // starters may be in a cycle
      const auto starter = by_id.find(above->of.starter);
      if (above->of.starter.empty() || starter == by_id.end()) {
        return false;
      }
      above = starter->second;
      if (above->use && above->use->has_whole_cost) {
        return true;
      }
    }
    return false;
  };
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [&](const Row& row) { return !std::isnan(cost_of(row)) && is_in_starters(row); }));
}

void explain_costs_of(const std::vector<Row>& rows, Terminal& io) {
  stats::Row total;
  for (const Row& row : rows) {
    if (row.use) {
      const stats::Row& one = row.use->row;
      total.add({one.usage, static_cast<int>(one.messages), static_cast<int>(one.without_cost),
                 static_cast<int>(one.computed), one.computed_cost});
    }
  }
  explain_costs(total, io);
  if (const std::size_t twice = counted_twice(rows); twice > 0) {
    io.err << "arborfs: the cost of " << counted(twice, "sub-agent")
           << " is also in that of the session that started it; 'arborfs stats --by session' counts each once\n";
  }
}

std::size_t limit_of(const CommandLine& line, const Terminal& io) {
  const bool short_list = io.out_is_terminal && !line.json && !line.only_ids;
  const std::size_t limit = line.limit.value_or(short_list ? kRowsOnTerminal : 0);
  return limit == 0 ? SIZE_MAX : limit;
}

std::vector<Row> read_rows(const std::vector<Listed>& sessions, const Catalog& catalog, Terminal& io) {
  Progress progress(io, "reading sessions", sessions.size());
  std::vector<std::unique_ptr<AgentLook>> looks;  // by the store's number
  for (const auto& store : catalog.stores()) {
    looks.push_back(AgentLook::recent(*store));
  }
  std::vector<Row> rows(sessions.size());
  parallel_for(sessions.size(), [&](std::size_t i) {
    rows[i] = read_row(sessions[i], catalog, *looks[sessions[i].session->store_number()]);
    progress.step();
  });
  return rows;
}

/// Reads the whole logs.
void read_uses(std::vector<Row>& rows, Terminal& io) {
  Progress progress(io, "reading sessions", rows.size());
  const stats::Options options;
  parallel_for(rows.size(), [&](std::size_t i) {
    auto use = stats::use_of(rows[i].of.session, options);
    rows[i].use = use ? *std::move(use) : stats::SessionUse{};
    progress.step();
  });
}

/// The sessions that the options select, except --state, --label, --model and --limit. Errors: not_found if a filter
/// leaves none.
Result<std::vector<Listed>> sessions_to_list(const CommandLine& line, const Catalog& catalog) {
  ASSIGN_OR_RETURN(auto sessions, chosen_sessions(line, catalog));
  if (!line.children) {
    std::erase_if(sessions, [](const Listed& of) { return !of.starter.empty(); });
  }
  if (line.since.empty() && line.until.empty()) {
    return sessions;
  }
  const auto since = start_of(line.since);
  const auto until = end_of(line.until);
  std::erase_if(sessions, [&](const Listed& of) {
    const std::int64_t at = of.mtime_ns / 1'000'000;
    return (since && at < *since) || (until && at >= *until);
  });
  if (sessions.empty()) {
    return {Errc::not_found, "no session was written in that time; 'arborfs ls' lists all"};
  }
  return sessions;
}

bool has_used(const Row& row, const std::string& part) {
  return std::any_of(row.use->models.begin(), row.use->models.end(),
                     [&](const std::string& model) { return ::strcasestr(model.c_str(), part.c_str()) != nullptr; });
}

/// The entries with this label. Reads the whole log, where that may have labels.
std::vector<std::string> labelled_in(Session& session, const std::string& label) {
  const NotedPtr noted = session.noted();
  const bool may_have =
      session.format().takes("label") ||
      std::any_of(noted->labels.begin(), noted->labels.end(), [&](const auto& one) { return one.text == label; });
  const auto guard = may_have && session.refresh(Depth::index) ? session.read() : std::nullopt;
  std::vector<std::string> found;
  for (const Label& one : guard ? guard->index().labels() : std::vector<Label>()) {
    const Ordinal entry = one.text == label ? guard->index().find(one.target) : kNoEntry;
    if (entry != kNoEntry) {
      found.push_back(names::entry_stem(guard->index(), entry));
    }
  }
  return found;
}

/// Errors: not_found if no session has an entry with the label.
Result<void> keep_labelled(std::vector<Row>& rows, const std::string& label, Terminal& io) {
  Progress progress(io, "reading sessions", rows.size());
  parallel_for(rows.size(), [&](std::size_t i) {
    rows[i].labelled = labelled_in(*rows[i].of.session, label);
    progress.step();
  });
  std::erase_if(rows, [](const Row& row) { return row.labelled.empty(); });
  return rows.empty() ? Result<void>(Errc::not_found, "no session has an entry with the label '" +
                                                          visible_line(label, kTitleCharacters) +
                                                          "'; label one by: arborfs label SESSION ENTRY LABEL")
                      : Result<void>();
}

/// The sessions that --state, --label and --model select. Errors: not_found if none has the label or used the model.
Result<std::vector<Row>> selected_rows(std::vector<Row> rows, const CommandLine& line, Terminal& io) {
  if (!line.state.empty()) {
    std::erase_if(rows, [&](const Row& row) { return row.state != line.state; });
  }
  if (!line.label.empty() && !rows.empty()) {
    RETURN_IF_ERROR(keep_labelled(rows, line.label, io));
  }
  if (line.model.empty() || rows.empty()) {
    return rows;
  }
  read_uses(rows, io);
  std::erase_if(rows, [&](const Row& row) { return !has_used(row, line.model); });
  if (rows.empty()) {
    return {Errc::not_found, "no session used a model named '" + visible_line(line.model, kTitleCharacters) +
                                 "'; 'arborfs stats --by model' lists the models"};
  }
  return rows;
}

std::vector<Listed> sessions_of(const std::vector<Row>& rows) {
  std::vector<Listed> sessions;
  std::transform(rows.begin(), rows.end(), std::back_inserter(sessions), [](const Row& row) { return row.of; });
  return sessions;
}

void print_ids(const std::vector<Listed>& sessions, bool json, Terminal& io) {
  auto all = JsonText::lines();
  for (const auto& of : sessions) {
    all.item(of.id);
    if (!json) {
      io.out << of.id << "\n";
    }
  }
  io.out << (json ? all.str() + "\n" : "");
}

void measure(std::vector<Row>& rows, const Catalog& catalog, Terminal& io) {
  Progress progress(io, "measuring sessions", rows.size());
  const auto view = catalog.view();
  parallel_for(rows.size(), [&](std::size_t i) {
    const auto parts = occupied_by(*rows[i].of.session, *view);
    rows[i].occupied = parts ? std::optional(own_bytes(*parts)) : std::nullopt;
    progress.step();
  });
}

/// Reads what the rows show beyond what they have.
void complete(std::vector<Row>& rows, const CommandLine& line, const Catalog& catalog, Terminal& io) {
  if (shows_cost(line) && line.model.empty()) {
    read_uses(rows, io);
  }
  if (shows_size(line)) {
    measure(rows, catalog, io);
  }
}

/// Sorts by --sort: texts ascending, numbers from the largest; equal ones stay in their order.
void sort_rows(std::vector<Row>& rows, const std::string& key) {
  const auto by = [&rows](const auto& value_of) {
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return value_of(a) < value_of(b); });
  };
  if (key == "title") {
    by([](const Row& row) { return folded(title_of(row)); });
  } else if (key == "project") {
    by([](const Row& row) { return folded(row.of.project->name); });
  } else if (key == "agent") {
    by([](const Row& row) { return row.of.session->agent(); });
  } else if (key == "size") {
    by([](const Row& row) { return -static_cast<double>(row.occupied.value_or(0)); });
  } else if (key == "cost") {
    by([](const Row& row) { return std::isnan(cost_of(row)) ? 1.0 : -cost_of(row); });
  }
}

}  // namespace

int run_ls(const CommandLine& line, Terminal& io) {
  const auto catalog = open_catalog(line, io);
  if (!catalog) {
    return fail(io, catalog.error());
  }
  auto found = sessions_to_list(line, **catalog);
  if (!found) {
    return fail(io, found.error());
  }
  std::vector<Listed> sessions = std::move(found).value();
  const bool is_sorted = !line.sort.empty() && line.sort != "modified";
  const bool reads_to_choose =  // before the limit
      is_sorted || !line.state.empty() || !line.label.empty() || !line.model.empty();
  std::vector<Row> rows;
  if (reads_to_choose) {
    auto selected = selected_rows(read_rows(sessions, **catalog, io), line, io);
    if (!selected) {
      return fail(io, selected.error());
    }
    rows = std::move(selected).value();
    if (is_sorted) {
      complete(rows, line, **catalog, io);
      sort_rows(rows, line.sort);
    }
    sessions = sessions_of(rows);
  }
  const std::size_t limit = limit_of(line, io);
  const std::size_t left_out = sessions.size() - std::min(limit, sessions.size());
  sessions.resize(sessions.size() - left_out);
  if (line.only_ids) {
    print_ids(sessions, line.json, io);
    return kDone;
  }
  if (reads_to_choose) {
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(sessions.size()), rows.end());
  } else {
    rows = read_rows(sessions, **catalog, io);
  }
  if (!is_sorted) {
    complete(rows, line, **catalog, io);
  }
  line.json ? print_json(rows, line, io) : print_table(rows, line, **catalog, io);
  if (!line.json && shows_cost(line)) {
    explain_costs_of(rows, io);
  }
  if (rows.empty() && !line.json && !line.state.empty() && io.err_is_terminal) {
    io.err << "no session is " << line.state << " now; 'arborfs ls' lists all\n";
  }
  if (left_out > 0 && io.err_is_terminal) {
    io.err << counted(left_out, is_sorted ? "more session" : "older session") << " not shown; -n 0 shows all\n";
  }
  return kDone;
}

}  // namespace arborfs::cli
