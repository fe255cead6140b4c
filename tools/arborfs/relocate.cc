// arborfs relocate: a project was moved to another folder, and its sessions follow, of whatever agent they are.
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/words.h"
#include "core/entry/text.h"
#include "core/os/environment.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/progress.h"
#include "tools/arborfs/removal.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPathLength = 4096;

/// Errors: invalid_argument, not_found.
Result<FolderMove> moved_folder(const CommandLine& line) {
  std::error_code failed;
  const std::string from = normal_path(fs::absolute(line.moved_from, failed).string());
  const std::string to = resolved_path(fs::absolute(line.moved_to, failed).string());
  if (failed) {
    return Error{Errc::not_found, "the current folder does not exist any more; give both folders as absolute paths"};
  }
  if (!fs::is_directory(to, failed)) {
    return about_word(line.moved_to, {Errc::not_found, "there is no such folder; move the project there first"});
  }
  if (from == to || resolved_path(from) == to || from == "/") {
    return Error{Errc::invalid_argument,
                 "the folder that the project was in, and another one that it is in now, "
                 "are needed"};
  }
  return FolderMove(from, to);
}

/// A session that follows its project.
struct Follower {
  Listed of;
  std::string description;
  Relocation change;
};

struct Followers {
  std::vector<Follower> all;
  std::vector<std::pair<std::string, Error>> refused;  // by the description of the session
};

/// True for a sub-agent whose log is among the files of the session that started it.
bool goes_with_another(const Session& session) {
  return !session.format().is_writable() && !session.head().header.started_by.empty();
}

/// Errors: not_found if no session follows; busy if one is live.
Result<Followers> followers_of(const FolderMove& moved, Writer& writer, Terminal& io) {
  const Progress progress(io, "reading sessions");
  Followers found;
  for (Listed& of : all_sessions(writer.catalog())) {
    if (!moved.now(of.session->head().header.cwd) || goes_with_another(*of.session)) {
      continue;
    }
    std::string description = described(of);
    auto change = writer.check_relocation(of.session, moved);
    if (change) {
      found.all.push_back({std::move(of), std::move(description), *std::move(change)});
    } else if (change.error().code == Errc::busy) {
      return Error{Errc::busy, description + ": " + change.error().message + "; no session was relocated"};
    } else {
      found.refused.emplace_back(std::move(description), change.error());
    }
  }
  if (found.all.empty() && found.refused.empty()) {
    return Error{Errc::not_found, "no session was started in " + visible_line(moved.from(), kPathLength) +
                                      " or below; 'arborfs ls' lists the folders"};
  }
  return found;
}

/// Those that fail join the refused ones.
void relocate(Followers& followers, const FolderMove& moved, Writer& writer, Terminal& io) {
  Progress progress(io, "relocating", followers.all.size());
  const Operations::Together together(writer.catalog().operations(), "relocate");
  std::vector<Follower> done;
  for (Follower& one : followers.all) {
    auto made = writer.relocate(one.of.session, moved);
    progress.step();
    if (made) {
      one.change = *std::move(made);
      done.push_back(std::move(one));
    } else {
      followers.refused.emplace_back(one.description, made.error());
    }
  }
  followers.all = std::move(done);
}

std::string path_of(const Relocation& change, const LogPlace& place) {
  return visible_line(folder_path(change.sessions, place.folder) + "/" + place.file, kPathLength);
}

void print_json(const Followers& followers, bool dry_run, Terminal& io) {
  auto rows = JsonText::lines();
  for (const Follower& one : followers.all) {
    auto row = JsonText::object().add("session", one.of.id).add("agent", one.change.agent);
    row.add("from", one.change.cwd_before).add("to", one.change.cwd_after);
    rows.item_json(row.add("log", log_path(*one.of.session)).str());
  }
  auto all = JsonText::object().add("dryRun", dry_run).add_json("relocated", rows.str());
  io.out << terminal_safe_json(all.add("refused", std::uint64_t{followers.refused.size()}).str()) << "\n";
}

void print_words(const Followers& followers, bool dry_run, Terminal& io) {
  for (const Follower& one : followers.all) {
    io.out << (dry_run ? "would relocate " : "relocated ") << one.change.agent << " " << one.description << ": "
           << visible_line(one.change.cwd_before, kPathLength) << " -> "
           << visible_line(one.change.cwd_after, kPathLength) << "\n";
    if (dry_run && !one.change.files.empty()) {
      io.out << "  " << path_of(one.change, one.change.from) << " -> " << path_of(one.change, one.change.to) << "\n";
    }
  }
  io.out << counted(followers.all.size(), "session") << (dry_run ? " would be relocated" : " relocated") << "\n";
}

}  // namespace

int run_relocate(const CommandLine& line, Terminal& io) {
  const auto moved = moved_folder(line);
  if (!moved) {
    return fail(io, moved.error());
  }
  const auto catalog = open_catalog(line, io);
  if (!catalog) {
    return fail(io, catalog.error());
  }
  const auto writer = make_writer(**catalog, write_settings(line));
  auto followers = followers_of(*moved, *writer, io);
  if (!followers) {
    return fail(io, followers.error());
  }
  if (!line.dry_run) {
    relocate(*followers, *moved, *writer, io);
  }
  line.json ? print_json(*followers, line.dry_run, io) : print_words(*followers, line.dry_run, io);
  for (const auto& [description, error] : followers->refused) {
    fail(io, {error.code, description + ": " + error.message});
  }
  return followers->refused.empty() ? kDone : kFailed;
}

}  // namespace arborfs::cli
