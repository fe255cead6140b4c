#include "core/views/page_head.h"

#include <algorithm>
#include <string_view>

#include "core/base/words.h"
#include "core/html/html.h"
#include "core/views/page_words.h"

namespace arborfs {

using html::fact;

PageFacts facts_of(const Session& session, const LogIndex& index, const std::set<Ordinal>& path) {
  PageFacts facts;
  facts.agent = session.agent();
  facts.id = index.header().id;
  facts.folder = index.header().cwd;
  for (const Ordinal ordinal : path) {
    const std::int64_t time = index.entry(ordinal).timestamp_ms;
    if (time != Entry::kNoTime) {
      facts.first_ms = facts.first_ms == Entry::kNoTime ? time : std::min(facts.first_ms, time);
      facts.last_ms = facts.last_ms == Entry::kNoTime ? time : std::max(facts.last_ms, time);
    }
  }
  return facts;
}

std::string entry_counts(const std::map<std::string, std::size_t>& by_role) {
  std::size_t all = 0;
  std::string out;
  for (const auto& [role, count] : by_role) {
    all += count;
  }
  for (const std::string_view role : {"user", "assistant", "tool"}) {
    const auto found = by_role.find(std::string(role));
    out += found == by_role.end() ? "" : " · " + grouped(found->second) + " " + std::string(role);
  }
  return all == 0 ? "" : grouped(all) + out;
}

std::string page_head(const PageFacts& facts, const std::vector<html::Link>& links, const std::string& says) {
  std::string out = "<a class=\"skip\" href=\"#main\">Skip to the conversation</a>\n<header class=\"top\">\n<h1>" +
                    html::text(facts.title) + "</h1>\n" + (says.empty() ? "" : "<p class=\"note\">" + says + "</p>\n") +
                    "<dl class=\"facts\">\n";
  out += fact("agent", facts.agent) + fact("project", facts.folder) + fact("session", facts.id) +
         fact("from", time_words(facts.first_ms)) + fact("to", time_words(facts.last_ms)) +
         fact("models", facts.models) + fact("entries", facts.entries) + fact("tokens", facts.tokens);
  return out + "</dl>\n" + html::link_list(links, "Other views") + "</header>\n";
}

std::string entries_bar() {
  return html::find_bar("Find in the conversation",
                        "<label><input type=\"checkbox\" id=\"show-people\" checked> people</label>\n"
                        "<label><input type=\"checkbox\" id=\"show-answers\" checked> answers</label>\n"
                        "<label><input type=\"checkbox\" id=\"show-thinking\" checked> thinking</label>\n"
                        "<label><input type=\"checkbox\" id=\"show-tools\" checked> tools</label>\n"
                        "<label><input type=\"checkbox\" id=\"show-notes\" checked> notes</label>\n",
                        "<button type=\"button\" id=\"fold\">fold</button> ");
}

std::string page_foot() {
  return "<footer class=\"foot\"><p class=\"facts\">arborfs " + std::string(ARBORFS_VERSION) + "</p></footer>\n";
}

}  // namespace arborfs
