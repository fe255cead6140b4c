#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/columns.h"
#include "core/entry/names.h"
#include "core/entry/people_path.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text.h"
#include "core/entry/tree.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/views/session_facts.h"
#include "core/views/stats.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/costs.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/pager.h"
#include "tools/arborfs/progress.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kBranchesShown = 20;
constexpr std::size_t kWordsShown = 60;  // where there is no screen
constexpr std::size_t kFieldCharacters = 4096;

struct Point {
  std::string name;  // of a label, or of a branch
  Ordinal ordinal = kNoEntry;
  Ordinal says = kNoEntry;  // the entry whose first words are shown for it
};

/// A session that this one started.
struct SubAgent {
  std::string id;
  std::string title;  // its name for people
};

/// The facts to show, copied out of the index.
struct Facts {
  Listed of;
  std::string_view agent;
  Notes::Tags tags;
  Header header;
  SessionStatus status;
  std::map<std::string, std::uint64_t> counts;  // by role
  std::string leaf;                             // its stem, "" if there is none
  Ordinal leaf_ordinal = kNoEntry;
  std::vector<Point> branches;
  std::vector<Point> labels;
  std::vector<SubAgent> sub_agents;
  std::string usage;  // JSON
  std::string log;
};

/// The last talk on the path to `tip`; `tip` itself if that is far away.
Ordinal last_talk(const LogIndex& index, Ordinal tip) {
  constexpr int kFar = 32;
  Ordinal at = tip;
  for (int step = 0; step < kFar && at != kNoEntry; ++step, at = before_for_people(index, at)) {
    if (is_talk(index, at)) {
      return at;
    }
  }
  return tip;
}

void read_index(const LogIndex& index, Ordinal leaf, Facts& facts) {
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    ++facts.counts[std::string(index.role(ordinal))];
  }
  facts.leaf_ordinal = leaf;
  facts.leaf = leaf == kNoEntry ? "" : names::entry_stem(index, leaf);
  for (const Ordinal tip : conversation_ends(index, leaf)) {
    facts.branches.push_back({names::branch_stem(index, tip), tip, last_talk(index, tip)});
  }
  for (const auto& label : named_labels(index)) {
    facts.labels.push_back({label.name, label.target, label.target});
  }
}

/// The newest last, as the branches.
std::vector<SubAgent> sub_agents_of(const Opened& opened) {
  const auto view = opened.catalog->view();
  std::vector<SessionPtr> sessions;
  for (const auto& [name, session] : view->children_of(opened.of.session->number())) {
    sessions.push_back(session);
  }
  std::stable_sort(sessions.begin(), sessions.end(),
                   [](const SessionPtr& a, const SessionPtr& b) { return a->mtime_ns() < b->mtime_ns(); });
  std::vector<SubAgent> started;
  for (const SessionPtr& session : sessions) {
    started.push_back({listed(*opened.catalog, session).id, session_name(*session, kTitleCharacters)});
  }
  return started;
}

Facts gather(const Opened& opened) {
  const Session& session = *opened.of.session;
  Facts facts;
  facts.of = opened.of;
  facts.agent = session.agent();
  facts.tags = tags_of(session, *session.noted());
  facts.header = session.head().header;
  facts.status = session_status(session, *opened.catalog);
  facts.log = log_path(session);
  facts.sub_agents = sub_agents_of(opened);
  if (const auto guard = session.read()) {
    read_index(guard->index(), guard->leaf(), facts);
    facts.usage = guard->has_details()
                      ? session.format().renderer->usage_json(guard->details().usage(), guard->index().dialect())
                      : "";
  }
  return facts;
}

std::string json_sub_agents(const std::vector<SubAgent>& started) {
  auto array = JsonText::array();
  for (const SubAgent& one : started) {
    array.item_json(JsonText::object().add("session", one.id).add("title", one.title).str());
  }
  return array.str();
}

std::string json_points(const std::vector<Point>& points) {
  auto array = JsonText::array();
  for (const auto& point : points) {
    array.item_json(JsonText::object().add("name", point.name).add("entry", point.ordinal).str());
  }
  return array.str();
}

void print_json(const Facts& facts, Terminal& io) {
  auto counts = JsonText::object();
  for (const auto& [name, count] : facts.counts) {
    counts.add(name, count);
  }
  auto json = JsonText::object();
  json.add("session", facts.of.id).add("agent", facts.agent);
  json.add("project", facts.of.project ? facts.of.project->name : "");
  json.add_json("tags", JsonText::array_of(facts.tags).str());
  json.add("log", facts.log).add("modified", json::iso_time(facts.of.mtime_ns / 1'000'000));
  json.add_json("header", facts.header.json.empty() ? "null" : facts.header.json);
  std::string status;
  json::canonicalize(session_status_json(facts.status), status);
  json.add_json("status", status);
  json.add("leaf", facts.leaf).add_json("counts", counts.str());
  json.add_json("branches", json_points(facts.branches)).add_json("labels", json_points(facts.labels));
  json.add_json("children", json_sub_agents(facts.sub_agents));
  json.add_json("usage", facts.usage.empty() ? "null" : facts.usage);
  io.out << terminal_safe_json(json.str()) << "\n";
}

/// The columns of the screen; more than any text has where there is none.
std::size_t columns_of_screen(const Terminal& io) {
  return io.out_is_terminal && io.width > 0 ? io.width : SIZE_MAX;
}

/// A long text goes on below, so that it can be copied, and a word that is longer than the screen is left whole.
void row(Terminal& io, const std::string& name, const std::string& text, Style style = Style::plain) {
  constexpr std::size_t kName = 11;
  if (text.empty()) {
    return;
  }
  const std::size_t columns = columns_of_screen(io);
  const auto lines = columns == SIZE_MAX ? std::vector<std::string>{text}
                                         : lines_of_columns(text, columns - std::min(columns - 1, kName));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string before = fmt::format("{:<{}}", i == 0 ? name : "", kName);
    io.out << (i == 0 ? styled(io, Style::bold, before) : before) << styled(io, style, lines[i]) << "\n";
  }
}

std::string comma_separated(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) {
    text += (text.empty() ? "" : ", ") + visible_line(part, kFieldCharacters);
  }
  return text;
}

std::string counts_words(const Facts& facts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : facts.counts) {
    parts.push_back(name + " " + grouped(count));
  }
  const std::string total = grouped(facts.status.entries);
  return parts.empty() ? total : total + "  (" + comma_separated(parts) + ")";
}

/// False where all numbers are zero: the session was made of another agent's, whose cost is unknown.
bool tells_cost(const json::Value& usage) {
  return std::any_of(usage.MemberBegin(), usage.MemberEnd(),
                     [](const auto& member) { return member.value.IsNumber() && member.value.GetDouble() > 0; });
}

/// The tokens and cost that the agent reports, or the cost by prices, which `marked` is then; "" if there are none.
std::string usage_words(const std::string& usage, const SessionPtr& session, std::optional<stats::Row>& marked) {
  json::Document parsed;
  if (usage.empty() || !json::parse(usage, parsed)) {
    return "";
  }
  std::vector<std::string> parts;
  const auto add = [&parsed, &parts](const char* key, const auto& words) {
    const json::Value* value = json::member(parsed, key);
    if (value != nullptr && value->IsNumber()) {
      parts.push_back(words(std::max(0.0, value->GetDouble())));
    }
  };
  const auto tokens = [&add](const char* key, const char* what) {
    add(key, [what](double count) { return grouped(static_cast<std::uint64_t>(count)) + what; });
  };
  tokens("input", " in");
  tokens("output", " out");
  tokens("cacheRead", " read from the cache");
  tokens("cacheWrite", " written to the cache");
  if (json::number_member(parsed, "cost") && tells_cost(parsed)) {
    add("cost", [](double cost) { return fmt::format("cost {:.4f}", cost); });
  } else if (const auto use = stats::use_of(session); use && !std::isnan(use->row.usage.cost)) {
    marked = use->row;
    parts.push_back("cost " + stats::cost_words(*marked));
  }
  tokens("messagesWithoutCost", " messages of unknown cost not in it");
  return comma_separated(parts);
}

void print_points(const std::string& name, const std::vector<Point>& points, const Opened& opened, Ordinal leaf,
                  Terminal& io) {
  row(io, name, grouped(points.size()));
  const std::size_t most_words = std::min(columns_of_screen(io), io.out_is_terminal ? kFieldCharacters : kWordsShown);
  const std::size_t shown = std::min(points.size(), kBranchesShown);
  for (std::size_t i = points.size() - shown; i < points.size(); ++i) {
    const auto words = first_words(*opened.of.session, points[i].says, *opened.catalog, most_words);
    const bool is_leaf = points[i].ordinal == leaf;
    const std::string text = fmt::format("  {} #{} {}  {}", is_leaf ? "*" : " ", points[i].ordinal,
                                         visible_line(points[i].name, kFieldCharacters), words);
    io.out << styled(io, is_leaf ? Style::green : Style::plain, cut(text, columns_of_screen(io))) << "\n";
  }
  if (shown < points.size()) {
    io.out << fmt::format("    and {} older ones\n", grouped(points.size() - shown));
  }
}

void print_sub_agents(const std::vector<SubAgent>& started, Terminal& io) {
  row(io, "sub-agents", started.empty() ? "" : grouped(started.size()));
  const std::size_t shown = std::min(started.size(), kBranchesShown);
  for (std::size_t i = started.size() - shown; i < started.size(); ++i) {
    io.out << cut("    " + started[i].id + "  " + started[i].title, columns_of_screen(io)) << "\n";
  }
  if (shown < started.size()) {
    io.out << fmt::format("    and {} older ones\n", grouped(started.size() - shown));
  }
}

Style style_of_state(const std::string& state) {
  return state == "live" ? Style::green : state == "maybe" ? Style::yellow : Style::plain;
}

void print_damage(const SessionStatus& status, Terminal& io) {
  row(io, "problem", visible_line(status.problem, kFieldCharacters), Style::red);
  row(io, "read only", visible_line(status.read_only_reason, kFieldCharacters));
  std::uint64_t bytes = 0;
  for (const auto& run : status.damage) {
    bytes += run.length;
  }
  if (!status.damage.empty()) {
    row(io, "damage",
        fmt::format("{} in {}; see arborfs doctor", counted(bytes, "byte"), counted(status.damage.size(), "run")));
  }
}

/// "2 of type x, 1 of type y"; "" for none.
std::string not_shown_words(const RecordCounts& counts) {
  std::vector<std::string> parts;
  for (const auto& [type, count] : counts.by_type()) {
    parts.push_back(grouped(count) + " of type " + type);
  }
  return comma_separated(parts);
}

/// In local time, as all times that people read; as the header has it if that is not a time.
std::string start_words(const Header& header) {
  const auto time = json::parse_date(header.timestamp);
  return time ? time_words(*time * 1'000'000) : visible_line(header.timestamp, kFieldCharacters);
}

void print_words(const Facts& facts, const Opened& opened, Terminal& io) {
  row(io, "title", session_name(*opened.of.session, kFieldCharacters));
  row(io, "session", facts.of.id);
  row(io, "agent", std::string(facts.agent));
  const std::string project = facts.of.project ? facts.of.project->name : "";
  row(io, "project",
      facts.header.cwd.empty() ? project : project + "  (" + visible_line(facts.header.cwd, kFieldCharacters) + ")");
  row(io, "log", facts.log + "  (" + size_words(facts.status.bytes) + ")");
  row(io, "tags", visible_line(comma_separated(facts.tags), kFieldCharacters));
  row(io, "started", start_words(facts.header));
  row(io, "modified", time_words(facts.of.mtime_ns));
  row(io, "parent", visible_line(facts.header.parent_session, kFieldCharacters));
  row(io, "state",
      facts.status.state + (facts.status.reasons.empty() ? "" : "  (" + comma_separated(facts.status.reasons) + ")"),
      style_of_state(facts.status.state));
  print_damage(facts.status, io);
  row(io, "entries", counts_words(facts));
  row(io, "not shown", not_shown_words(facts.status.not_shown));
  row(io, "leaf", facts.leaf.empty() ? "(root)" : facts.leaf);
  print_points("branches", facts.branches, opened, facts.leaf_ordinal, io);
  if (!facts.labels.empty()) {
    print_points("labels", facts.labels, opened, kNoEntry, io);
  }
  print_sub_agents(facts.sub_agents, io);
  std::optional<stats::Row> marked;
  row(io, "usage", usage_words(facts.usage, opened.of.session, marked));
  if (marked) {
    explain_costs(*marked, io);
  }
}

}  // namespace

int run_show(const CommandLine& line, Terminal& io) {
  const auto opened = open_session(line, Depth::details, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  Facts facts = gather(*opened);
  if (line.json) {
    if (const auto use = stats::use_as_read(*opened->of.session); use && !facts.usage.empty()) {
      facts.usage = stats::with_computed_cost(std::move(facts.usage), *use);
    }
    print_json(facts, io);
    return kDone;
  }
  const Pager pager(io);
  print_words(facts, *opened, io);
  return kDone;
}

}  // namespace arborfs::cli
