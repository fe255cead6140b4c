#include "core/search/report.h"

#include <algorithm>

#include "core/base/parallel_for.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/render/names.h"
#include "core/render/text.h"

namespace arborfs::search {

namespace {

constexpr std::size_t kLineCharacters = 300;  // of titles and queries
constexpr std::size_t kLeastRankDigits = 2;
constexpr std::size_t kUsualObjectBytes = 512;  // in hits.json, without its hits

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

/// The part of excerpts.md about one match.
std::string section_of(const ShownMatch& shown) {
  const std::string title = visible_line(shown.title, kLineCharacters);
  std::string text = "\n## " + shown.link + "\n\n" + std::string(shown.match.session->agent()) + ", " + shown.project +
                     ", last written " + json::iso_time(shown.mtime_ns / 1'000'000) + (title.empty() ? "" : ": ") +
                     title + "\n\n";
  for (const Hit& hit : shown.match.hits) {
    text += "- `" + text_path(shown.link, hit) + "`: " + marked(hit.excerpt, "**", "**") + "\n";
  }
  text += shown.match.has_more ? "- and more\n" : "";
  return text;
}

/// `unreadable`: Found::unreadable.
std::string excerpts_text(std::string_view query, const std::vector<std::string>& sections, std::size_t count,
                          std::size_t unreadable) {
  std::string text = "# " + visible_line(query, kLineCharacters) + "\n\n";
  text += count == 0 ? "No session matches.\n" : count_of(count, "session matches.\n", "sessions match, best first.\n");
  if (unreadable > 0) {
    text += count_of(unreadable, "session could not be read.\n", "sessions could not be read.\n");
  }
  for (const std::string& section : sections) {
    text += section;
  }
  if (sections.size() < count) {
    text += "\nand " + count_of(count - sections.size(), "more session", "more sessions") + ": see the links\n";
  }
  return text;
}

std::string hits_json(const std::vector<std::string>& objects) {
  std::size_t bytes = 4;
  for (const std::string& one : objects) {
    bytes += one.size() + 2;
  }
  std::string text = "[";
  text.reserve(bytes);
  for (const std::string& one : objects) {
    (text += text.size() == 1 ? "\n" : ",\n") += one;
  }
  text += objects.empty() ? "]\n" : "\n]\n";
  return text;
}

}  // namespace

ShownPlaces::ShownPlaces(const CatalogView& view) : view_(view) {
  for (const auto& [id, session] : view.by_id) {
    if (session->number() >= ids_.size()) {
      ids_.resize(std::max<std::size_t>(session->number() + 1, 2 * ids_.size()));
    }
    ids_[session->number()] = &id;
  }
}

ShownMatch ShownPlaces::of(Match match, std::size_t rank, std::size_t count) const {
  ShownMatch shown;
  const Session& session = *match.session;
  shown.title = session.title();
  shown.link = link_name(rank, count, shown.title);
  shown.mtime_ns = session.mtime_ns();
  const std::uint32_t number = session.number();
  if (const auto where = view_.where.find(number); where != view_.where.end()) {
    shown.project = where->second.project->name;
    shown.path = view_.path_of(number);
    const std::string* const id = number < ids_.size() ? ids_[number] : nullptr;
    shown.id = id == nullptr ? where->second.name() : *id;
  }
  shown.match = std::move(match);
  return shown;
}

std::string match_json(const ShownMatch& shown) {
  std::string hits;
  for (const Hit& hit : shown.match.hits) {
    hits += (hits.empty() ? "" : ",") + hit_json(shown, hit);
  }
  std::string out = "{";
  out.reserve(kUsualObjectBytes + hits.size());
  const auto add = [&](std::string_view name, std::string_view value) {
    ((out += out.size() == 1 ? "\"" : ",\"") += name) += "\":";
    json::stringify_string(value, out);
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

Report report_of(const CatalogView& view, std::string_view query, Found found) {
  const ShownPlaces places(view);
  const std::size_t count = found.matches.size();
  Report report;
  report.links.resize(count);
  std::vector<std::string> objects(count);
  std::vector<std::string> sections(std::min(count, kMostExcerpts));
  parallel_for(count, [&](std::size_t i) {
    const ShownMatch shown = places.of(std::move(found.matches[i]), i + 1, count);
    objects[i] = match_json(shown);
    if (i < sections.size()) {
      sections[i] = section_of(shown);
    }
    report.links[i] = {shown.link, shown.match.session->number()};
  });
  report.hits = hits_json(objects);
  report.excerpts = excerpts_text(query, sections, count, found.unreadable);
  return report;
}

}  // namespace arborfs::search
