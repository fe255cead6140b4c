// arborfs du: what sessions and projects occupy, with all that belongs to them.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/entry/text.h"
#include "core/formats/registry.h"
#include "core/store/blob_store.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/choice.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/progress.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kPathCharacters = 4096;

using Parts = std::vector<OccupiedPart>;

/// A session with its parts, or why they cannot be read.
struct Measured {
  Listed of;
  Parts parts;
  std::string problem;
};

/// A project, a session, or a part of one.
struct Occupant {
  std::uint64_t bytes = 0;
  std::string name;
  std::string words;  // what a person reads beside the name
  JsonText json = JsonText::object();
};

/// The sessions that the words name, or those of the projects, without those in children/, which belong to them; all
/// without words. Errors: not_found; those of find_session.
Result<std::vector<Listed>> sessions_meant(const std::vector<std::string>& words, const CommandLine& line,
                                           Catalog& catalog) {
  CommandLine of_project = line;
  auto meant = words.empty() ? all_sessions(catalog) : std::vector<Listed>();
  for (const std::string& word : words) {
    const auto session = find_session(catalog, word);
    of_project.project = word;
    const auto sessions = session ? listed_all(catalog, {word}) : chosen_sessions(of_project, catalog);
    if (!sessions && session.error().code == Errc::not_found) {
      return Error{Errc::not_found, "no session and no project is named '" + visible_line(word, kTitleCharacters) +
                                        "'; 'arborfs ls' lists them"};
    }
    if (!sessions) {
      return session.error();
    }
    std::copy_if(sessions->begin(), sessions->end(), std::back_inserter(meant),
                 [&](const Listed& of) { return session || of.starter.empty(); });
  }
  if (words.empty()) {
    std::erase_if(meant, [](const Listed& of) { return !of.starter.empty(); });
  }
  return meant;
}

std::vector<Measured> measure(std::vector<Listed> sessions, const Catalog& catalog, Terminal& io) {
  Progress progress(io, "measuring sessions", sessions.size());
  std::vector<Measured> measured(sessions.size());
  const auto view = catalog.view();
  parallel_for(sessions.size(), [&](std::size_t i) {
    measured[i].of = std::move(sessions[i]);
    auto parts = occupied_by(*measured[i].of.session, *view);
    if (parts) {
      measured[i].parts = *std::move(parts);
    } else {
      measured[i].problem = parts.error().message;
    }
    progress.step();
  });
  return measured;
}

Parts parts_of(const std::vector<Measured>& measured) {
  Parts all;
  for (const Measured& one : measured) {
    all.insert(all.end(), one.parts.begin(), one.parts.end());
  }
  return each_once(std::move(all));
}

std::vector<Occupant> rows_of_projects(const std::vector<Measured>& measured) {
  std::map<std::string, std::vector<Measured>> by_project;
  for (const Measured& one : measured) {
    by_project[one.of.project->name].push_back(one);
  }
  std::vector<Occupant> rows;
  for (const auto& [name, sessions] : by_project) {
    Occupant row{own_bytes(parts_of(sessions)), name, counted(sessions.size(), "session")};
    row.json.add("project", name).add("cwd", sessions.front().of.project->cwd).add("sessions", sessions.size());
    rows.push_back(std::move(row));
  }
  return rows;
}

/// On a terminal with ids as short as in `ls`.
std::vector<Occupant> rows_of_sessions(const std::vector<Measured>& measured, const Catalog& catalog,
                                       const Terminal& io) {
  const auto view = catalog.view();
  std::vector<Occupant> rows;
  for (const auto& [of, parts, problem] : measured) {
    const std::string name = session_name(*of.session, kTitleCharacters);
    const std::string id = io.out_is_terminal ? short_id(*view, of.id) : of.id;
    Occupant row{own_bytes(parts), id, problem.empty() ? name : "! " + visible_line(problem, kTitleCharacters)};
    row.json.add("session", of.id).add("agent", of.session->agent()).add("project", of.project->name);
    row.json.add("name", name).add("problem", problem);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Occupant> rows_of_parts(const Parts& parts) {
  std::vector<Occupant> rows;
  for (const OccupiedPart& part : parts) {
    Occupant row{part.bytes, visible_line(part.path, kPathCharacters),
                 part.is_shared ? "shared with other sessions" : ""};
    row.json.add("path", part.path).add("shared", part.is_shared);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The blobs of the stores that the sessions are of: any of their sessions may refer to them.
std::vector<Occupant> rows_of_blobs(const std::vector<Measured>& measured) {
  std::map<std::string, Occupant> by_folder;
  for (const Measured& one : measured) {
    const Store& store = one.of.session->store();
    const auto [place, is_new] = by_folder.try_emplace(store.paths().blobs);
    const auto blobs = is_new ? store.blobs()->list() : Result<std::vector<std::string>>(std::vector<std::string>());
    Occupant& row = place->second;
    for (const std::string& hash : blobs ? *blobs : std::vector<std::string>()) {
      const auto st = store.blobs()->stat(hash);
      row.bytes += st ? st->size : 0;
    }
  }
  std::vector<Occupant> rows;
  for (auto& [folder, row] : by_folder) {
    if (row.bytes != 0) {
      row.name = visible_line(folder, kPathCharacters);
      row.words = "blobs, which sessions share";
      row.json.add("path", folder).add("shared", true);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

void print_json(std::vector<Occupant>& rows, std::uint64_t total, std::vector<Occupant>& shared, Terminal& io) {
  const auto all = [](std::vector<Occupant>& of) {
    auto json = JsonText::lines();
    for (Occupant& row : of) {
      json.item_json(row.json.add("bytes", row.bytes).str());
    }
    return json.str();
  };
  auto json = JsonText::object().add_json("rows", all(rows)).add("total", total).add_json("shared", all(shared));
  io.out << terminal_safe_json(json.str()) << "\n";
}

void print_table(const std::vector<Occupant>& rows, std::uint64_t total, const std::vector<Occupant>& shared,
                 Terminal& io) {
  Table table({{"SIZE", true}, {"WHAT", false, true}, {"", false, true}});
  for (const Occupant& row : rows) {
    table.add({size_words(row.bytes), row.name, row.words});
  }
  table.add({size_words(total), "total", ""});
  for (const Occupant& row : shared) {
    table.add({size_words(row.bytes), row.name, row.words});
  }
  print_with_heading(table.lines(io.out_is_terminal ? io.width : 0), io);
}

}  // namespace

int run_du(const CommandLine& line, Terminal& io) {
  const auto catalog = open_catalog(line, io);
  if (!catalog) {
    return fail(io, catalog.error());
  }
  auto sessions = sessions_meant(line.sessions, line, **catalog);
  if (!sessions) {
    return fail(io, sessions.error());
  }
  const auto measured = measure(*std::move(sessions), **catalog, io);
  const Parts parts = parts_of(measured);
  const bool is_session = line.sessions.size() == 1 && find_session(**catalog, line.sessions.front());
  auto rows = line.sessions.empty() ? rows_of_projects(measured)
              : is_session          ? rows_of_parts(parts)
                                    : rows_of_sessions(measured, **catalog, io);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Occupant& one, const Occupant& other) { return one.bytes > other.bytes; });
  auto shared = rows_of_blobs(measured);
  line.json ? print_json(rows, own_bytes(parts), shared, io) : print_table(rows, own_bytes(parts), shared, io);
  const auto failed =
      std::find_if(measured.begin(), measured.end(), [](const auto& one) { return !one.problem.empty(); });
  return failed == measured.end() ? kDone : fail(io, {Errc::io, "session " + failed->of.id + ": " + failed->problem});
}

}  // namespace arborfs::cli
