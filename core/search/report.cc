#include "core/search/report.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "core/base/threads.h"
#include "core/entry/names.h"
#include "core/entry/text.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/session/session_name.h"

namespace arborfs::search {

namespace {

constexpr std::size_t kLineCharacters = 300;  // of titles and queries
constexpr std::size_t kSentenceCharacters = 8192;
constexpr std::size_t kLeastRankDigits = 2;
constexpr std::size_t kUsualObjectBytes = 384;  // in hits.json

std::string link_name(std::size_t rank, std::size_t of, const std::string& shown_name) {
  const std::string number = std::to_string(rank);
  std::string name(std::max(kLeastRankDigits, std::to_string(of).size()) - number.size(), '0');
  name.reserve(name.size() + number.size() + 1 + shown_name.size());
  return ((name += number) += '-') += shown_name;
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
  std::string text = "\n## " + shown.link + "\n\n" + std::string(shown.session.agent) + ", " + shown.project +
                     ", last written " + json::iso_time(shown.session.mtime_ns / 1'000'000) + ": " + shown.name +
                     "\n\n";
  for (const Hit& hit : shown.match.hits) {
    text += "- `" + text_path(shown.link, hit) + "`: " + marked(hit.excerpt, "**", "**") + "\n";
  }
  text += shown.match.has_more ? "- and more\n" : "";
  return text;
}

/// `unreadable`: Found::unreadable.
std::string excerpts_text(std::string_view query, const std::vector<std::string>& sections, std::size_t count,
                          std::size_t unreadable, const Hanging& left_out) {
  std::string text = "# " + visible_line(query, kLineCharacters) + "\n\n";
  text += count == 0 ? "No session matches.\n" : count_of(count, "session matches.\n", "sessions match, best first.\n");
  if (unreadable > 0) {
    text += count_of(unreadable, "session could not be read.\n", "sessions could not be read.\n");
  }
  for (const auto& [submount, sentence] : left_out.submounts) {
    text += "Not searched: " + visible_line(sentence, kSentenceCharacters) + ".\n";
  }
  for (const std::string& section : sections) {
    text += section;
  }
  if (sections.size() < count) {
    text += "\nand " + count_of(count - sections.size(), "more session", "more sessions") + ": see the links\n";
  }
  return text;
}

/// The array of the objects, which begin with a comma.
std::string hits_json(std::string first, const std::string& second) {
  first += second;
  if (first.empty()) {
    return "[]\n";
  }
  first.front() = '[';
  return first += "\n]\n";
}

/// What a part of the matches adds to a report, so that two threads can write it.
struct ReportPart {
  std::string hits;  // objects of hits.json, each after ",\n"
  std::vector<std::string> sections;
};

/// The matches from `begin` to before `end`. Their links are set in `links`.
ReportPart part_of_report(const Found& found, std::size_t begin, std::size_t end,
                          std::vector<std::pair<std::string, std::uint32_t>>& links) {
  ReportPart part;
  const std::size_t objects = begin == 0 ? found.matches.size() : end - begin;  // the first part gets the others
  part.hits.reserve(objects * kUsualObjectBytes);
  for (std::size_t i = begin; i < end; ++i) {
    ShownMatch shown = shown_match(found, i);
    part.hits += ",\n";
    append_match_json(shown, part.hits);
    if (i < kMostExcerpts) {
      part.sections.push_back(section_of(shown));
    }
    links[i] = {std::move(shown.link), shown.match.shown->session()->number()};
  }
  return part;
}

}  // namespace

ShownMatch shown_match(const Found& found, std::size_t rank) {
  const Match& match = found.matches[rank];
  const ShownAt& at = *match.shown;
  ShownMatch shown{match,
                   found.view->id_of(at),
                   at.project->name,
                   at.session()->summary(),
                   found.view->path_of(at),
                   session_name(*at.session(), kLineCharacters),
                   ""};
  shown.link = link_name(rank + 1, found.matches.size(), at.name());
  return shown;
}

void append_match_json(const ShownMatch& shown, std::string& out) {
  out += '{';
  const auto add = [&](std::string_view name, std::string_view value) {
    ((out += out.back() == '{' ? "\"" : ",\"") += name) += "\":";
    json::stringify_string(value, out);
  };
  if (!shown.link.empty()) {
    add("link", shown.link);
  }
  add("session", shown.id);
  add("agent", shown.session.agent);
  add("project", shown.project);
  add("title", shown.session.title);
  add("modified", json::iso_time(shown.session.mtime_ns / 1'000'000));
  add("path", shown.path);
  out += ",\"hits\":[";
  for (const Hit& hit : shown.match.hits) {
    (out += out.back() == '[' ? "" : ",") += hit_json(shown, hit);
  }
  out += shown.match.has_more ? "],\"more\":true}" : "],\"more\":false}";
}

Report report_of(std::string_view query, const Found& found, const Hanging& left_out) {
  const std::size_t count = found.matches.size();
  Report report;
  report.links.resize(count);
  constexpr std::size_t kParts = 2;
  std::array<ReportPart, kParts> parts;
  parallel_for(kParts, [&](std::size_t i) {
    parts.at(i) = part_of_report(found, count * i / kParts, count * (i + 1) / kParts, report.links);
  });
  std::vector<std::string> sections;
  for (ReportPart& part : parts) {
    std::move(part.sections.begin(), part.sections.end(), std::back_inserter(sections));
  }
  for (const auto& [submount, sentence] : left_out.submounts) {
    parts[1].hits += ",\n{\"notSearched\":" + quoted(sentence) + "}";
  }
  report.excerpts = excerpts_text(query, sections, count, found.unreadable, left_out);
  report.hits = hits_json(std::move(parts[0].hits), parts[1].hits);
  return report;
}

}  // namespace arborfs::search
