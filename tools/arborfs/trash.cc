// The verbs that move sessions to the trash, bring them back and delete them: rm, restore, trash.

#include "core/write/trash.h"

#include <algorithm>
#include <map>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/words.h"
#include "core/entry/text.h"
#include "core/formats/registry.h"
#include "core/json/date.h"
#include "core/os/state_dir.h"
#include "core/session/store_state.h"
#include "core/write/retention.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/progress.h"
#include "tools/arborfs/removal.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kShown = 4096;
constexpr const char* kEmpty = "the trash is empty";

/// ` (title)`, or the words in parentheses for a session without a conversation.
std::string in_parentheses(const std::string& title) {
  return title.starts_with('(') ? " " + title : " (" + title + ")";
}

std::string shown_title(const std::string& title) {
  return title.empty() ? "-" : visible_line(title, kTitleCharacters);
}

/// `when_empty` is printed if there are none.
void print_trash(const std::vector<Trashed>& all, bool json, const char* when_empty, Terminal& io) {
  auto rows = JsonText::lines();
  Table table(
      {{"REMOVED", false, false, 2}, {"TITLE", false, true}, {"FOLDER", false, true, 1}, {"NAME", false, true}});
  for (const auto& one : all) {
    rows.item_json(JsonText::object()
                       .add("name", one.name)
                       .add("title", one.title)
                       .add("removed", json::iso_time(one.removed_ms))
                       .add("log", one.path)
                       .str());
    table.add({time_words(one.removed_ms * 1'000'000), shown_title(one.title), visible_line(one.place.folder, kShown),
               visible_line(one.name, kShown)});
  }
  if (json) {
    io.out << terminal_safe_json(rows.str()) << "\n";
    return;
  }
  if (all.empty()) {
    io.out << when_empty << "\n";
    return;
  }
  print_with_heading(table.lines(io.out_is_terminal ? io.width : 0), io);
}

/// True if the word is a prefix of its name in the trash, of the name that it had, or of the id in that name.
bool is_named(const Trashed& one, std::string_view word) {
  const LogPlace& place = one.place;
  return one.name.starts_with(word) || place.stem().starts_with(word) || place.id_in_name().starts_with(word);
}

/// The latest one is the latest that can go back.
Result<Trashed> find_trashed(const std::vector<Trashed>& all, const std::string& spelled, const StoreSet& open) {
  if (all.empty()) {
    return Error{Errc::not_found, kEmpty};
  }
  if (spelled == "latest") {
    const auto latest = std::find_if(all.begin(), all.end(),
                                     [&](const Trashed& one) { return store_of_trashed(one, open).has_value(); });
    return latest == all.end() ? all.front() : *latest;
  }
  std::vector<const Trashed*> fits;
  for (const auto& one : all) {
    if (one.name == spelled) {
      return one;
    }
    if (is_named(one, spelled)) {
      fits.push_back(&one);
    }
  }
  if (fits.size() == 1) {
    return *fits.front();
  }
  return fits.empty() ? Result<Trashed>(Errc::not_found,
                                        "nothing in the trash has that name or id; 'arborfs restore' lists the trash")
                      : Result<Trashed>(Errc::invalid_argument,
                                        std::to_string(fits.size()) +
                                            " sessions in the trash have this prefix; give more of the name");
}

/// Removes one session. Returns its name in the trash.
Result<std::string> remove(const Listed& of, Catalog& catalog, const CommandLine& line, Terminal& io) {
  const LogPlace place = of.session->place();
  WriteSettings settings = write_settings(line);
  settings.allow_delete = true;
  const auto writer = make_writer(catalog, settings);
  const Progress progress(io, "removing");
  RETURN_IF_ERROR(writer->remove(of.session, line.force));
  return name_in_trash(Trash(""), of.session->store().paths().sessions, place);
}

/// A session that was removed.
struct Removed {
  std::string trashed;  // its name in the trash, or that of `with`
  std::string with;     // the session that started it, if that was removed first and took it along; "" otherwise
};

/// Removes sessions one after another.
class Removals {
 public:
  Removals(Catalog& catalog, const CommandLine& line, Terminal& io)
      : catalog_(catalog), line_(line), io_(io), children_(catalog) {}

  Result<Removed> remove(const Listed& of) {
    const auto name = cli::remove(of, catalog_, line_, io_);
    if (!name) {
      const auto with = taken_along_.find(of.session);
      const bool is_gone = with != taken_along_.end() && name.error().code == Errc::not_found;
      return is_gone ? with->second : Result<Removed>(name.error());
    }
    for (const SessionPtr& child : children_.of(of.session)) {
      taken_along_[child] = {*name, of.id};
    }
    return Removed{*name, ""};
  }

 private:
  Catalog& catalog_;
  const CommandLine& line_;
  Terminal& io_;
  const Children children_;
  std::map<SessionPtr, Removed> taken_along_;
};

Operation operation_on(const Trashed& trashed, std::string_view verb, std::string cannot = "") {
  Operation operation;
  operation.verb = verb;
  operation.agent = trashed.agent;
  operation.session = trashed.place.stem();
  operation.title = trashed.title;
  operation.place = trashed.place;
  operation.cannot = std::move(cannot);
  return operation;
}

void note_restored(const Trashed& trashed, const Store& store) {
  Operation operation = operation_on(trashed, "restore");
  operation.dir = store.paths().agent_dir;
  operation.effects = {{Effect::Kind::trash, trashed.name, "true", "false"}};
  Operations(state_path(""), Disk::real()).add(std::move(operation));
}

std::string removal_words(const Listed& of, const Removed& removed) {
  return removed.with.empty()
             ? "removed; to bring it back: arborfs restore " + visible_line(removed.trashed, kShown) + "\n"
             : visible_line(of.id, kShown) + " was removed with " + visible_line(removed.with, kShown) + "\n";
}

/// The sessions that the command line names, each once. Reports each name that fits none, and sets `status` then.
std::vector<Listed> found_of(const CommandLine& line, Catalog& catalog, int& status, Terminal& io) {
  std::vector<Listed> sessions;
  for (const std::string& word : line.sessions) {
    const auto session = find_session(catalog, word);
    if (!session) {
      status = fail(io, session.error());
      continue;
    }
    const bool is_there =
        std::any_of(sessions.begin(), sessions.end(), [&](const Listed& of) { return of.session == *session; });
    if (!is_there) {
      sessions.push_back(listed(catalog, *session));
    }
  }
  return sessions;
}

/// Those that were removed at least so many days ago; all without a number.
std::vector<Trashed> removed_before(std::vector<Trashed> all, const std::optional<std::size_t>& days) {
  constexpr std::int64_t kDayMs = 86'400'000;
  constexpr std::size_t kMostDays = 1'000'000;
  const std::int64_t age_ms = static_cast<std::int64_t>(std::min(days.value_or(0), kMostDays)) * kDayMs;
  const std::int64_t last_ms = now_ms() - age_ms;
  std::erase_if(all, [&](const Trashed& one) { return days && one.removed_ms > last_ms; });
  return all;
}

Result<void> confirm_deletion(const CommandLine& line, std::size_t count, Terminal& io) {
  return count == 0 || line.yes
             ? Result<void>()
             : ask("delete " + counted(count, "session") + " from the trash for good", "not deleted", io);
}

}  // namespace

Result<void> ask(const std::string& question, const std::string& refusal, Terminal& io) {
  if (io.in == nullptr || !io.in_is_terminal) {
    return {Errc::interrupted, refusal + ": standard input is no terminal at which to ask; give --yes"};
  }
  io.err << question << "? [y/N] " << std::flush;
  std::string answer;
  std::getline(*io.in, answer);
  const bool is_yes = answer == "y" || answer == "Y" || answer == "yes";
  return is_yes ? Result<void>() : Result<void>(Errc::interrupted, refusal);
}

std::string described(const Listed& of) {
  return visible_line(of.id, kShown) + in_parentheses(shown_title(session_name(*of.session, kTitleCharacters)));
}

Result<void> confirm_removal(const CommandLine& line, const std::vector<Listed>& sessions, Terminal& io) {
  if (line.force || line.yes) {
    return {};
  }
  if (sessions.size() == 1) {
    return ask("remove session " + described(sessions.front()), "not removed", io);
  }
  std::string all;
  for (const auto& of : sessions) {
    all += "  " + described(of) + "\n";
  }
  return ask(all + "remove these " + std::to_string(sessions.size()) + " sessions", "not removed", io);
}

Result<StoreSet> stores_to_go_back(const CommandLine& line, std::vector<RemovedFrom> more) {
  ASSIGN_OR_RETURN(const auto chosen, chosen_stores(line));
  if (!chosen.empty()) {
    return open_stores(chosen, Access::write);
  }
  ASSIGN_OR_RETURN(const auto own, open_stores({}, Access::write));
  std::vector<std::shared_ptr<Store>> all(own.begin(), own.end());
  const auto removed = removed_from();
  more.insert(more.end(), removed.begin(), removed.end());
  for (const RemovedFrom& from : more) {
    const auto found = find_stores({{from.agent, from.dir, false}}, Access::write);
    const bool is_new = found && std::none_of(all.begin(), all.end(), [&](const auto& store) {
                          return store->paths().sessions == found->front().store->paths().sessions;
                        });
    if (is_new && all.size() < StoreSet::kMost) {
      all.push_back(found->front().store);
    }
  }
  return StoreSet(std::move(all));
}

Result<std::string> restore_trashed(const Trashed& trashed, const StoreSet& open) {
  const std::string written = Trash("").written_to(trashed);
  ASSIGN_OR_RETURN(const auto store, store_of_trashed(trashed, open));
  RETURN_IF_ERROR(restore_session("", trashed, open));
  if (!written.empty()) {
    ErasedEntries(state_path(""), store->paths().sessions, Disk::real()).acknowledge(trashed.place.file, written);
  }
  static_cast<void>(store->logs(trashed.place.folder, nullptr));  // so that it knows the files that are back
  return store->path_of(trashed.place);
}

std::string name_in_trash(const Trash& trash, const std::string& sessions, const LogPlace& place) {
  const auto all = trash.list();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Trashed& one) {
    return one.sessions == sessions && one.place.has_names_of(place);
  });
  return found == all.end() ? "" : found->name;
}

int run_rm(const CommandLine& line, Terminal& io) {
  const auto catalog = open_catalog(line, io);
  if (!catalog) {
    return fail(io, catalog.error());
  }
  int status = kDone;
  const auto sessions = found_of(line, **catalog, status, io);
  if (status != kDone) {
    return status;
  }
  if (const auto confirmed = confirm_removal(line, sessions, io); !confirmed) {
    return fail(io, confirmed.error());
  }
  const bool is_one = line.sessions.size() == 1;
  auto rows = JsonText::lines();
  std::string row;
  const Operations::Together together((*catalog)->operations(), "rm");
  Removals removals(**catalog, line, io);
  for (const auto& of : sessions) {
    const auto done = removals.remove(of);
    if (!done) {
      const Error& error = done.error();
      status = fail(io, {error.code, is_one ? error.message : described(of) + ": " + error.message});
      continue;
    }
    row = JsonText::object().add("session", of.id).add("trashed", done->trashed).str();
    rows.item_json(row);
    io.out << (line.json ? "" : removal_words(of, *done));
  }
  if (line.json && (!is_one || status == kDone)) {
    io.out << terminal_safe_json(is_one ? row : rows.str()) << "\n";
  }
  return status;
}

int run_trash(const CommandLine& line, Terminal& io) {
  Trash trash("");
  const auto all = trash.list();
  const auto chosen = removed_before(all, line.days);
  if (line.action != "empty") {
    print_trash(chosen, line.json, all.empty() ? kEmpty : "nothing in the trash was removed so long ago", io);
    return kDone;
  }
  if (const auto confirmed = line.dry_run ? Result<void>() : confirm_deletion(line, chosen.size(), io); !confirmed) {
    return fail(io, confirmed.error());
  }
  const auto stores = stores_to_go_back(line);
  if (!stores) {
    return fail(io, stores.error());
  }
  int status = kDone;
  auto names = JsonText::array();
  std::size_t deleted = 0;
  Operations operations(state_path(""), Disk::real());
  const Operations::Together together(operations, "trash empty");
  for (const Trashed& one : chosen) {
    if (const auto erased = line.dry_run ? Result<void>() : erase_session("", one, *stores); !erased) {
      status = fail(io, {erased.error().code, one.name + ": " + erased.error().message});
      continue;
    }
    names.item(one.name);
    ++deleted;
    if (!line.dry_run) {
      operations.add(operation_on(one, "trash empty", "it deleted the session for good"));
    }
    if (line.dry_run && !line.json) {
      io.out << "would delete " << visible_line(one.name, kShown) << in_parentheses(shown_title(one.title)) << "\n";
    }
  }
  if (!line.dry_run) {
    trash.erase_leftovers();
  }
  if (line.json) {
    io.out << terminal_safe_json(JsonText::object().add("dryRun", line.dry_run).add_json("deleted", names.str()).str())
           << "\n";
  } else {
    io.out << counted(deleted, "session") << (line.dry_run ? " would be deleted" : " deleted") << " from the trash\n";
  }
  return status;
}

int run_restore(const CommandLine& line, Terminal& io) {
  const Trash trash("");
  const auto all = trash.list();
  if (line.trashed.empty()) {
    print_trash(all, line.json, kEmpty, io);
    return kDone;
  }
  const auto stores = stores_to_go_back(line);
  if (!stores) {
    return fail(io, stores.error());
  }
  const auto chosen = find_trashed(all, line.trashed, *stores);
  if (!chosen) {
    return fail(io, chosen.error());
  }
  const Progress progress(io, "restoring");
  const auto log = restore_trashed(*chosen, *stores);
  if (!log) {
    return fail(io, log.error());
  }
  note_restored(*chosen, **store_of_trashed(*chosen, *stores));
  if (line.json) {
    io.out << terminal_safe_json(JsonText::object().add("restored", chosen->name).add("log", *log).str()) << "\n";
  } else {
    io.out << "restored " << visible_line(*log, kShown) << "\n";
  }
  return kDone;
}

}  // namespace arborfs::cli
