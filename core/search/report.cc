#include "core/search/report.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/parallel_for.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/render/names.h"
#include "core/render/text.h"

namespace arborfs::search {

namespace {

constexpr std::size_t kLineCharacters = 300;  // of titles and queries
constexpr std::size_t kLeastRankDigits = 2;

std::string link_name(std::size_t rank, std::size_t of, std::string_view title) {
  const std::string number = std::to_string(rank);
  const std::size_t digits = std::max(kLeastRankDigits, std::to_string(of).size());
  return std::string(digits - number.size(), '0') + number + "-" + names::slug(title);
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
  const std::string title = visible_line(shown.title, kLineCharacters);
  out += "\n## " + shown.link + "\n\n" + std::string(shown.match.session->agent()) + ", " + shown.project +
         ", last written " + json::iso_time(shown.mtime_ns / 1'000'000) + (title.empty() ? "" : ": ") + title + "\n\n";
  for (const Hit& hit : shown.match.hits) {
    out += "- `" + text_path(shown.link, hit) + "`: " + marked(hit.excerpt, "**", "**") + "\n";
  }
  out += shown.match.has_more ? "- and more\n" : "";
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
    one.title = session.head().header.title;
    one.link = link_name(shown.size() + 1, count, one.title);
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
  std::string out = "{";
  const auto add = [&](std::string_view name, std::string_view value) {
    ((out += out.size() == 1 ? "\"" : ",\"") += name) += "\":";
    out += quoted(value);
  };
  if (!shown.link.empty()) {
    add("link", shown.link);
  }
  add("session", shown.id);
  add("agent", shown.match.session->agent());
  add("project", shown.project);
  add("title", shown.title);
  add("modified", json::iso_time(shown.mtime_ns / 1'000'000));
  add("path", shown.path);
  ((out += ",\"hits\":[") += hits) += shown.match.has_more ? "],\"more\":true}" : "],\"more\":false}";
  return out;
}

std::string hits_json(const std::vector<ShownMatch>& matches) {
  std::vector<std::string> objects(matches.size());
  parallel_for(matches.size(), [&](std::size_t i) { objects[i] = match_json(matches[i]); });
  std::string text = "[";
  for (const std::string& one : objects) {
    (text += text.size() == 1 ? "\n" : ",\n") += one;
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
  const std::size_t told = std::min(matches.size(), kMostExcerpts);
  for (std::size_t i = 0; i < told; ++i) {
    add_match(matches[i], text);
  }
  if (told < matches.size()) {
    text += "\nand " + count_of(matches.size() - told, "more session", "more sessions") + ": see the links\n";
  }
  return text;
}

}  // namespace arborfs::search
