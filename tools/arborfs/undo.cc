// The verb undo: takes what arborfs changed back, and lists it.

#include "core/write/undo.h"

#include "core/entry/text.h"
#include "core/formats/registry.h"
#include "core/json/date.h"
#include "core/os/state_dir.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/pager.h"
#include "tools/arborfs/progress.h"
#include "tools/arborfs/removal.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kUndoWords = 4096;  // characters
constexpr std::chrono::seconds kWaitForOther{30};

/// What to do instead of taking back the last operation; "" if nothing else can be.
std::string next_to_undo(const Operations& operations) {
  const auto all = operations.all();
  const auto groups = all ? grouped_operations(*all) : std::vector<OperationGroup>();
  bool is_last = true;
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    if (!group->is_undone && !std::exchange(is_last, false) && group->cannot().empty()) {
      return "; what was done before it, '" + group->first().verb + "': arborfs undo " + group->first().id;
    }
  }
  return "";
}

std::string state_words(const OperationGroup& group) {
  const std::string cannot = group.cannot();
  return group.is_undone ? "taken back" : cannot.empty() ? "" : "cannot be taken back: " + cannot;
}

void print_table(const std::vector<OperationGroup>& groups, Terminal& io) {
  if (groups.empty()) {
    io.out << "arborfs has changed nothing yet\n";
    return;
  }
  Table table({{"TIME", false, false, 2},
               {"ID"},
               {"CHANGE"},
               {"AGENT", false, false, 1},
               {"SESSION", false, true},
               {"STATE", false, true}});
  for (const OperationGroup& group : groups) {
    const Operation& first = group.first();
    const bool is_one = group.sessions() <= 1;
    const std::string name = first.title.empty() ? first.session : first.title;
    table.add({time_words(first.time_ms * 1'000'000), first.id, first.verb, is_one ? first.agent : "",
               is_one ? visible_line(name, kTitleCharacters) : counted(group.sessions(), "session"),
               visible_line(state_words(group), kUndoWords)});
  }
  const Pager pager(io);
  print_with_heading(table.lines(io.out_is_terminal ? io.width : 0), io);
}

int list_operations(const Operations& operations, bool json, Terminal& io) {
  const auto all = operations.all();
  if (!all) {
    return fail(io, all.error());
  }
  const auto groups = grouped_operations(*all);
  if (!json) {
    print_table(groups, io);
    return kDone;
  }
  auto rows = JsonText::lines();
  for (const OperationGroup& group : groups) {
    const Operation& first = group.first();
    auto row = JsonText::object();
    row.add("id", first.id).add("time", json::iso_time(first.time_ms)).add("verb", first.verb);
    row.add("agent", first.agent).add("session", first.session).add("title", first.title);
    row.add("sessions", std::uint64_t{group.parts.size()}).add("takenBack", group.is_undone);
    rows.item_json(row.add("cannot", group.cannot()).str());
  }
  io.out << terminal_safe_json(rows.str()) << "\n";
  return kDone;
}

/// The stores in which the operation changed something, beside those where sessions of the trash go.
std::vector<RemovedFrom> stores_of(const OperationGroup& group) {
  std::vector<RemovedFrom> stores;
  for (const Operation& one : group.parts) {
    stores.push_back({one.agent, one.dir});
  }
  return stores;
}

Result<std::string> take_back(const Operations& operations, const CommandLine& line, Terminal& io) {
  ASSIGN_OR_RETURN(const auto folder, make_private_folder(Disk::real(), state_path(""), false));
  const FolderLock alone(folder, kWaitForOther);
  if (!alone.is_held()) {
    return Error{Errc::busy, "another process of arborfs takes something back; try again"};
  }
  ASSIGN_OR_RETURN(const auto group, find_operation(operations, line.operation));
  ASSIGN_OR_RETURN(const auto stores, stores_to_go_back(line, stores_of(group)));
  Catalog catalog(stores, home_of(io), state_path(""));
  const Progress progress(io, "taking back");
  catalog.rescan();
  WriteSettings settings = write_settings(line);
  settings.allow_delete = true;
  const auto writer = make_writer(catalog, settings);
  writer->take_back_parts();
  const auto restore = [&](const Trashed& trashed) -> Result<void> {
    RETURN_IF_ERROR(restore_trashed(trashed, stores));
    return {};
  };
  return undo(*writer, group, restore, line.force);
}

}  // namespace

int run_undo(const CommandLine& line, Terminal& io) {
  const Operations operations(state_path(""), Disk::real());
  if (line.list) {
    return list_operations(operations, line.json, io);
  }
  const auto done = take_back(operations, line, io);
  if (!done) {
    const bool is_last = line.operation.empty() && done.error().code != Errc::busy;
    return fail(io, {done.error().code, done.error().message + (is_last ? next_to_undo(operations) : "")});
  }
  io.out << (line.json ? terminal_safe_json(JsonText::object().add("done", *done).str())
                       : visible_line(*done, kUndoWords))
         << "\n";
  return kDone;
}

}  // namespace arborfs::cli
