// arborfs tail: a line for each session that changes, until the verb is interrupted.

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/entry/people_path.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text.h"
#include "core/json/date.h"
#include "core/session/watcher.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kMostChanges = 256;        // that are printed together
constexpr std::size_t kShownTitle = 40;          // characters
constexpr std::size_t kShownLine = 400;          // characters of the last line
constexpr int kEntriesSearched = 64;             // for one that has a text
constexpr std::uint64_t kLongestText = 4 << 20;  // longer entries are passed over

/// An entry that a transcript shows, copied so that the log is read without the session's lock.
struct Place {
  EntryType type = EntryType::none;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::string entry;  // its id
};

bool may_have_text(const Session& session, const LogIndex& index, Ordinal ordinal) {
  const EntryType type = index.entry(ordinal).type;
  const bool is_said = type == EntryType::message || type == EntryType::compaction || type == EntryType::branch_summary;
  return is_said && index.length(ordinal) <= kLongestText &&
         session.format().renderer->is_in_transcript(index.name(ordinal));
}

/// The last line of a text that is neither blank nor the end of a code block; "" if there is none.
std::string last_line_of(std::string_view text) {
  constexpr std::string_view kFence = "```";
  for (;;) {
    text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    const std::string_view line = text.substr(text.rfind('\n') + 1);
    if (line != kFence) {
      return visible_line(line, kShownLine);
    }
    text.remove_suffix(line.size());
  }
}

/// What a line of the output is about: it is printed once.
struct LastSaid {
  std::string line;   // the last one of the newest text on the path to the leaf
  std::string entry;  // the id of that text's entry
  std::string title;
  bool operator==(const LastSaid&) const = default;
};

/// Without a line if there is no text or it cannot be read.
LastSaid last_said(Session& session) {
  LastSaid said;
  const bool is_read = static_cast<bool>(session.refresh(Depth::index));
  said.title = session.title();
  if (!is_read) {
    return said;
  }
  std::vector<Place> places;
  std::shared_ptr<const LogSource> log;
  {
    const auto guard = session.read();
    if (!guard) {
      return said;
    }
    const LogIndex& index = guard->index();
    log = guard->log();
    Ordinal at = guard->leaf();
    for (int steps = 0; at != kNoEntry && steps < kEntriesSearched; ++steps, at = before_for_people(index, at)) {
      if (may_have_text(session, index, at)) {
        places.push_back({index.entry(at).type, index.entry(at).offset, index.length(at), index.id(at).text});
      }
    }
  }
  for (const Place& place : places) {
    const auto text = read_text(*session.format().renderer, *log, place.type, place.offset, place.length);
    if (std::string line = text ? last_line_of(*text) : ""; !line.empty()) {
      said.line = std::move(line);
      said.entry = place.entry;
      return said;
    }
  }
  return said;
}

void print_change(const Listed& of, const LastSaid& said, std::int64_t time_ms, bool json, Terminal& io) {
  const std::string project = of.project ? of.project->name : "";
  if (json) {
    auto object = JsonText::object().add("time", json::iso_time(time_ms)).add("session", of.id);
    object.add("agent", of.session->agent()).add("project", project).add("title", said.title).add("text", said.line);
    io.out << terminal_safe_json(object.str()) << std::endl;
    return;
  }
  const std::string shown = session_name(*of.session, kShownTitle);
  const std::string text = local_time(time_ms, "%H:%M:%S") + "  " + std::string(of.session->agent()) + "  " + project +
                           "  " + shown + "  " + said.line;
  io.out << (io.out_is_terminal ? cut(text, io.width) : text) << std::endl;
}

/// True for a change that may be one of the text: of a session that was not read yet, only a touch is known.
bool may_be_of_text(const Change& change) {
  return change.session != 0 && change.kind != Change::Kind::session_removed;
}

/// The sessions of these changes, each once, at the place of its last change.
std::vector<Change> newest_of_each(const std::vector<Change>& changes) {
  std::vector<Change> newest;
  for (const Change& change : changes) {
    if (may_be_of_text(change)) {
      std::erase_if(newest, [&](const Change& one) { return one.session == change.session; });
      newest.push_back(change);
    }
  }
  return newest;
}

using Printed = std::unordered_map<std::uint32_t, LastSaid>;  // by session, the last one

/// Prints changes of one session, or of all, until the output cannot be written or the process is interrupted.
int follow(const SessionPtr& only, std::uint64_t seen, Printed printed, Catalog& catalog, const CommandLine& line,
           Terminal& io) {
  while (io.out && catalog.feed().wait(seen)) {
    const auto changes = catalog.feed().after(seen, kMostChanges);
    for (const Change& change : newest_of_each(changes)) {
      const auto session = catalog.view()->session(change.session);
      if (!session || (only && session != only)) {
        continue;
      }
      const LastSaid said = last_said(*session);
      const auto [last, is_new] = printed.try_emplace(change.session, said);
      const bool is_unreadable = said.line.empty() && !last->second.line.empty();  // a program is just writing it
      if (is_new || (!is_unreadable && last->second != said)) {
        last->second = said;
        print_change(listed(catalog, session), said, change.time_ms, line.json, io);
      }
    }
    seen = changes.empty() ? catalog.feed().last_sequence() : changes.back().sequence;
  }
  return kDone;
}

}  // namespace

int run_tail(const CommandLine& line, Terminal& io) {
  if (line.session.empty() && !line.all) {
    return misused(io, "tail", "a session is needed, or --all");
  }
  const auto catalog = open_catalog(line, io);
  if (!catalog) {
    return fail(io, catalog.error());
  }
  SessionPtr only;
  if (!line.session.empty()) {
    const auto found = find_session(**catalog, line.session);
    if (!found) {
      return fail(io, found.error());
    }
    only = *found;
  }
  const Watcher watcher(**catalog, Watcher::Mode::inotify);
  const std::uint64_t seen = (*catalog)->feed().last_sequence();
  Printed printed;
  if (only) {
    const Listed of = listed(**catalog, only);
    const auto [said, is_new] = printed.emplace(only->number(), last_said(*only));
    print_change(of, said->second, of.mtime_ns / 1'000'000, line.json, io);
  }
  if (io.err_is_terminal) {
    io.err << "waiting for changes; Ctrl-C ends\n";
  }
  return follow(only, seen, std::move(printed), **catalog, line, io);
}

}  // namespace arborfs::cli
