#include "core/formats/omp/doctor/lost_header.h"

#include <optional>
#include <regex>

#include "core/base/clock.h"
#include "core/formats/omp/write/header_text.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/scan.h"
#include "core/render/text.h"
#include "core/store/store_parts.h"

namespace arborfs {
namespace {

constexpr std::size_t kShown = 200;

/// `<time>_<id>`, as both generations name their logs (omp/FORMAT.md F1).
struct NameParts {
  std::string id;
  std::optional<std::int64_t> time_ms;
};

NameParts parts_of(const std::string& stem) {
  static const std::regex kForm(R"((\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z_(.+))");
  std::smatch match;
  if (!std::regex_match(stem, match, kForm)) {
    return {stem, std::nullopt};
  }
  return {match[6], json::parse_date(match[1].str() + "T" + match[2].str() + ":" + match[3].str() + ":" +
                                     match[4].str() + "." + match[5].str() + "Z")};
}

/// The string after `"cwd":`, wherever that is.
std::string cwd_in(std::string_view remains) {
  constexpr std::string_view kKey = "\"cwd\":";
  for (std::size_t at = remains.find(kKey); at != std::string_view::npos; at = remains.find(kKey, at + 1)) {
    const std::size_t begin = remains.find_first_not_of(' ', at + kKey.size());
    if (begin == std::string_view::npos || remains[begin] != '"') {
      continue;
    }
    const auto value = json::scan_value(remains, begin);
    const auto text = value.verdict == json::ValueScanner::Verdict::value
                          ? skim::string_value(remains.substr(begin, value.end - begin))
                          : std::nullopt;
    if (text && text->starts_with('/')) {
      return *text;
    }
  }
  return "";
}

std::string cwd_of_terminal(const Session& session) {
  for (const Breadcrumb& crumb : breadcrumbs_of(session.store())) {
    if (crumb.place.has_names_of(session.place()) && crumb.cwd.starts_with('/')) {
      return crumb.cwd;
    }
  }
  return "";
}

/// The working directory of the other sessions in its folder; "" if they differ or there are none.
std::string cwd_of_neighbours(const Session& session, const Catalog& catalog) {
  const auto logs = catalog.stores().logs(session.place().in(), {});
  std::string common;
  for (const FoundLog& log : logs ? *logs : std::vector<FoundLog>{}) {
    const auto neighbour = catalog.at(log.place);
    const std::string cwd = neighbour ? neighbour->head().header.cwd : "";
    if (cwd.empty()) {
      continue;
    }
    if (!common.empty() && cwd != common) {
      return "";
    }
    common = cwd;
  }
  return common;
}

struct Source {
  std::string cwd;
  std::string_view words;
};

Source find_cwd(const Session& session, const Catalog& catalog, std::string_view remains) {
  if (auto cwd = cwd_in(remains); !cwd.empty()) {
    return {std::move(cwd), "from the rest of the old header"};
  }
  if (auto cwd = cwd_of_terminal(session); !cwd.empty()) {
    return {std::move(cwd), "from the terminal that used the session last"};
  }
  if (auto cwd = cwd_of_neighbours(session, catalog); !cwd.empty()) {
    return {std::move(cwd), "from the other sessions in the folder"};
  }
  return {"", "because no other is known"};
}

}  // namespace

Result<std::string> with_session_id(std::string_view header, const std::string& stem) {
  return skim::string_value(skim::member(header, "id"))
             ? Result<std::string>(std::string(header))
             : with_member(header, "id", json::stringify_string(parts_of(stem).id));
}

LostHeader make_lost_header(const Session& session, const Catalog& catalog, std::string_view remains, bool has_ids) {
  const NameParts parts = parts_of(session.stem());
  const Source source = find_cwd(session, catalog, remains);
  NewHeader header;
  header.id = parts.id;
  header.timestamp_ms = parts.time_ms.value_or(session.mtime_ns() / 1'000'000);
  header.cwd = source.cwd;
  std::string line = new_header_lines(header);
  line.pop_back();
  if (!has_ids) {
    if (auto unversioned = with_member(line, "version", std::nullopt)) {
      line = std::move(*unversioned);
    }
  }
  return {std::move(line), "put in a new session header with the id of the log's name and the working directory '" +
                               visible_line(source.cwd, kShown) + "', " + std::string(source.words)};
}

}  // namespace arborfs
