// Why a query finds nothing: its filters name what there is not.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/suggestion.h"
#include "core/base/words.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text.h"
#include "core/json/utf8.h"
#include "core/search/search.h"

namespace arborfs::search {
namespace {

constexpr std::size_t kMostListed = 20;       // roles; each custom type of a record is one
constexpr std::size_t kCharactersShown = 40;  // of each word

std::string shown(std::string_view word) {
  return visible_line(word, kCharactersShown);
}

std::vector<std::string> agents_of_stores(const Catalog& catalog) {
  std::vector<std::string> agents;
  for (const auto& store : catalog.stores()) {
    const std::string_view agent = store->format().agent;
    if (std::find(agents.begin(), agents.end(), agent) == agents.end()) {
      agents.emplace_back(agent);
    }
  }
  return agents;
}

using Words = std::set<std::string, std::less<>>;

void add_word(std::string_view word, Words& words) {
  if (words.find(word) == words.end()) {
    words.emplace(word);
  }
}

/// What is known of the entries of some sessions.
struct Roles {
  Words shown;
  Words own;  // the agents' own words for them
};

/// Adds those of the session's entries.
void add_roles(Session& session, Roles& roles) {
  if (!session.refresh(Depth::index)) {
    return;
  }
  const auto guard = session.read();
  const Ordinal count = guard ? guard->index().size() : kNoEntry;
  for (Ordinal ordinal = 1; ordinal <= count; ++ordinal) {
    add_word(guard->index().role(ordinal), roles.shown);
    add_word(guard->index().name(ordinal), roles.own);
  }
}

bool has_role(const Roles& roles, const std::string& wanted) {
  const auto is_wanted = [&](const std::string& word) { return folded(word) == wanted; };
  return std::any_of(roles.shown.begin(), roles.shown.end(), is_wanted) ||
         std::any_of(roles.own.begin(), roles.own.end(), is_wanted);
}

/// Fails if no entry has the query's role.
Result<void> check_role(const Catalog& catalog, const Query& query) {
  if (query.role.empty()) {
    return {};
  }
  const std::string wanted = folded(query.role);
  Roles roles;
  const auto view = catalog.view();
  for (const ShownAt* shown_at : view->shown) {
    const SessionPtr& session = shown_at->session();
    if (!query.agent.empty() && session->agent() != query.agent) {
      continue;
    }
    const Session::Use use(session);
    if (Cancellation::is_requested()) {
      return search_is_over();
    }
    add_roles(*session, roles);
    if (has_role(roles, wanted)) {
      return {};
    }
  }
  std::vector<std::string> listed;
  for (const std::string& role : roles.shown) {
    listed.push_back(shown(role));
  }
  listed.resize(std::min(listed.size(), kMostListed));
  if (wanted == "thinking" || wanted == "reasoning") {
    return {Errc::invalid_argument,
            "reasoning is a part of what the assistant says, and no role of entries; 'arborfs text SESSION --role "
            "thinking' prints that of a session"};
  }
  return {Errc::invalid_argument, "no entry has the role '" + shown(query.role) + "'" +
                                      (listed.empty() ? "" : "; there are entries of " + join_words(listed)) +
                                      did_you_mean(nearest(query.role, listed))};
}

/// The records that are looked at for the names of tools: so many bytes of the newest sessions.
constexpr std::uint64_t kLookedAt = std::uint64_t{32} << 20U;
constexpr std::uint64_t kLongestRecord = std::uint64_t{1} << 20U;

struct Record {
  Entry entry;
  std::uint64_t length = 0;
  std::string name;
};

/// Adds the names of the tools that the newest records of a session call, of at most `left` bytes, which it takes off.
void add_tools(Session& session, std::uint64_t& left, std::set<std::string>& tools) {
  std::vector<Record> records;
  std::shared_ptr<const LogSource> log;
  {
    const auto guard = session.refresh(Depth::index) ? session.read() : std::nullopt;
    if (!guard) {
      return;
    }
    const LogIndex& index = guard->index();
    log = guard->log();
    for (Ordinal ordinal = index.size(); ordinal > 0 && left > 0; --ordinal) {
      const std::uint64_t length = index.length(ordinal);
      left -= std::min(left, length);
      if (length <= kLongestRecord) {
        records.push_back({index.entry(ordinal), length, std::string(index.name(ordinal))});
      }
    }
  }
  const auto blobs = session.store().blobs();
  for (const Record& record : records) {
    const auto raw = log->read(record.entry.offset, record.length);
    std::vector<Turn> turns;
    if (raw) {
      session.format().renderer->add_turns({record.entry.type, record.name, *raw, record.entry.timestamp_ms, *blobs},
                                           turns);
    }
    for (const Turn& turn : turns) {
      for (const TurnPart& part : turn.parts) {
        if (part.kind == TurnPart::Kind::tool_call && !part.tool.empty()) {
          tools.insert(part.tool);
        }
      }
    }
  }
}

/// Fails if the query's tool is not among those that are called, but one of a similar name is.
Result<void> check_tool(const Catalog& catalog, const Query& query) {
  std::set<std::string> tools;
  std::uint64_t left = query.tool.empty() ? 0 : kLookedAt;
  for (const SessionPtr& session : catalog.view()->recent(SIZE_MAX)) {
    if (left == 0) {
      break;
    }
    if (Cancellation::is_requested()) {
      return search_is_over();
    }
    if (query.agent.empty() || session->agent() == query.agent) {
      const Session::Use use(session);
      add_tools(*session, left, tools);
    }
  }
  std::vector<std::string> as_typed;
  for (const std::string& tool : tools) {
    as_typed.push_back(folded(tool));
  }
  const std::string meant = nearest(query.tool, as_typed);
  const auto spelled =
      std::find_if(tools.begin(), tools.end(), [&](const std::string& tool) { return folded(tool) == meant; });
  if (meant.empty() || meant == query.tool || spelled == tools.end()) {
    return {};
  }
  return {Errc::invalid_argument,
          "no entry calls the tool '" + shown(query.tool) + "'" + did_you_mean(shown(*spelled))};
}

}  // namespace

Result<void> check_agent(const Catalog& catalog, const Query& query) {
  for (const std::string& agent : query.tag.empty() ? std::vector<std::string>() : agents_of_stores(catalog)) {
    RETURN_IF_ERROR(catalog.notes().of_agent(agent));
  }
  const auto agents = agents_of_stores(catalog);
  if (query.agent.empty() || std::find(agents.begin(), agents.end(), query.agent) != agents.end() ||
      catalog.view()->by_agent.contains(query.agent)) {
    return {};
  }
  return {Errc::invalid_argument, "no store of an agent '" + shown(query.agent) + "' is open; there are stores of " +
                                      join_words(agents) + did_you_mean(nearest(query.agent, agents))};
}

Result<void> explain_nothing(const Catalog& catalog, const Query& query) {
  RETURN_IF_ERROR(check_role(catalog, query));
  return check_tool(catalog, query);
}

}  // namespace arborfs::search
