#include "core/search/report.h"

#include <algorithm>
#include <unordered_map>

#include "core/json/date.h"
#include "core/json/document.h"
#include "core/render/names.h"
#include "core/render/text.h"

namespace arborfs::search {

namespace {

constexpr std::size_t kLineCharacters = 300;  // of titles and queries
constexpr std::size_t kLeastRankDigits = 2;

std::string link_name(std::size_t rank, std::size_t of, const Session& session) {
  const std::string number = std::to_string(rank);
  const std::size_t digits = std::max(kLeastRankDigits, std::to_string(of).size());
  return std::string(digits - number.size(), '0') + number + "-" + names::slug(session.head().header.title);
}

std::string quoted(std::string_view text) {
  return json::stringify_string(text);
}

std::string iso_or_empty(std::int64_t milliseconds) {
  return milliseconds == Entry::kNoTime ? std::string() : json::iso_time(milliseconds);
}

std::string text_path(const std::string& session, const Hit& hit) {
  return session + "/text/" + hit.stem + ".md";
}

std::string hit_json(const ShownMatch& shown, const Hit& hit) {
  std::string marks;
  for (const auto& [offset, length] : hit.excerpt.marks) {
    marks += (marks.empty() ? "[" : ",[") + std::to_string(offset) + "," + std::to_string(length) + "]";
  }
  return "{\"entry\":" + quoted(hit.stem) + ",\"path\":" + quoted(text_path(shown.path, hit)) +
         ",\"time\":" + quoted(iso_or_empty(hit.time_ms)) + ",\"excerpt\":" + quoted(hit.excerpt.text) +
         ",\"marks\":[" + marks + "]}";
}

std::string count_of(std::size_t count, const char* one, const char* several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

void add_match(const ShownMatch& shown, std::string& out) {
  const std::string title = visible_line(shown.match.session->head().header.title, kLineCharacters);
  out += "\n## " + shown.link + "\n\n" + std::string(shown.match.session->agent()) + ", " + shown.project +
         ", last written " + json::iso_time(shown.mtime_ns / 1'000'000) + (title.empty() ? "" : ": ") + title + "\n\n";
  for (const Hit& hit : shown.match.hits) {
    out += "- `" + text_path(shown.link, hit) + "`: " + marked(hit.excerpt, "**", "**") + "\n";
  }
  if (shown.match.hit_count > shown.match.hits.size()) {
    out += "- and " + count_of(shown.match.hit_count - shown.match.hits.size(), "more entry", "more entries") + "\n";
  }
}

}  // namespace

std::vector<ShownMatch> shown_matches(const CatalogView& view, std::vector<Match> matches) {
  std::unordered_map<const Session*, const std::string*> ids;
  for (const auto& [id, session] : view.by_id) {
    ids.emplace(session.get(), &id);
  }
  std::vector<ShownMatch> shown;
  shown.reserve(matches.size());
  const std::size_t count = matches.size();
  for (Match& match : matches) {
    ShownMatch one;
    const Session& session = *match.session;
    one.link = link_name(shown.size() + 1, count, session);
    one.mtime_ns = session.mtime_ns();
    const auto where = view.where.find(session.number());
    if (where != view.where.end()) {
      one.project = where->second.project->name;
      one.path = view.path_of(session.number());
      const auto id = ids.find(&session);
      one.id = id == ids.end() ? where->second.name() : *id->second;
    }
    one.match = std::move(match);
    shown.push_back(std::move(one));
  }
  return shown;
}

std::string match_json(const ShownMatch& shown) {
  std::string hits;
  for (const Hit& hit : shown.match.hits) {
    hits += (hits.empty() ? "" : ",") + hit_json(shown, hit);
  }
  const Session& session = *shown.match.session;
  return (shown.link.empty() ? "{" : "{\"link\":" + quoted(shown.link) + ",") + "\"session\":" + quoted(shown.id) +
         ",\"agent\":" + quoted(session.agent()) + ",\"project\":" + quoted(shown.project) +
         ",\"title\":" + quoted(session.head().header.title) +
         ",\"modified\":" + quoted(json::iso_time(shown.mtime_ns / 1'000'000)) + ",\"path\":" + quoted(shown.path) +
         ",\"entries\":" + std::to_string(shown.match.hit_count) + ",\"hits\":[" + hits + "]}";
}

std::string hits_json(const std::vector<ShownMatch>& matches) {
  std::string text = "[";
  for (const ShownMatch& one : matches) {
    text += (text.size() == 1 ? "\n" : ",\n") + match_json(one);
  }
  return text + (matches.empty() ? "]\n" : "\n]\n");
}

std::string excerpts_text(std::string_view query, const std::vector<ShownMatch>& matches, std::size_t unreadable) {
  std::string text = "# " + visible_line(query, kLineCharacters) + "\n\n";
  text += matches.empty() ? "No session matches.\n"
                          : count_of(matches.size(), "session matches.\n", "sessions match, best first.\n");
  if (unreadable > 0) {
    text += count_of(unreadable, "session could not be read.\n", "sessions could not be read.\n");
  }
  for (const ShownMatch& one : matches) {
    add_match(one, text);
  }
  return text;
}

}  // namespace arborfs::search
