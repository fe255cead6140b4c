// arborfs stores: the stores of the user's agents, or those that the command line names.
#include <map>

#include "core/entry/text.h"
#include "core/formats/registry.h"
#include "core/os/state_dir.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kShownPath = 4096;

struct StoreRow {
  std::string_view agent;
  std::string place;
  std::uint64_t sessions = 0;
  std::string_view state;                         // ok, absent, unreadable
  std::string problem;                            // "" if it is ok
  std::map<std::string, std::uint64_t> left_out;  // by reason, how many names of logs are no sessions
};

StoreRow row_of(const FoundStore& found) {
  StoreRow row{found.agent, found.place, 0, "ok", "", {}};
  if (!found.store) {
    row.state = found.refused ? "unreadable" : "absent";
    row.problem = found.why_not;
  } else if (const auto problem = problem_of(*found.store)) {
    row.state = problem->is_absent ? "absent" : "unreadable";
    row.problem = problem->words;
  }
  return row;
}

/// Sets the numbers of sessions, and of what is none, of the stores that are open.
void count_sessions(const std::vector<FoundStore>& found, std::vector<StoreRow>& rows) {
  std::vector<std::shared_ptr<Store>> stores;
  std::vector<StoreRow*> row_of_store;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].store) {
      stores.push_back(found[i].store);
      row_of_store.push_back(&rows[i]);
    }
  }
  if (stores.empty()) {
    return;
  }
  Catalog catalog(StoreSet(std::move(stores)), "", "");
  catalog.rescan();
  for (const auto& [id, session] : catalog.view()->by_id) {
    ++row_of_store[session->store_number()]->sessions;
  }
  for (const LeftOut& file : catalog.left_out()) {
    ++row_of_store[file.store]->left_out[file.reason];
  }
}

std::string left_out_json(const std::map<std::string, std::uint64_t>& left_out) {
  auto json = JsonText::object();
  for (const auto& [reason, number] : left_out) {
    json.add(reason, number);
  }
  return json.str();
}

/// " (left out: 2 × a FIFO)"
std::string left_out_words(const std::map<std::string, std::uint64_t>& left_out) {
  std::string words;
  for (const auto& [reason, number] : left_out) {
    words += (words.empty() ? " (left out: " : ", ") + grouped(number) + " × " + visible_line(reason, kShownPath);
  }
  return words.empty() ? "" : words + ")";
}

void print_json(const std::vector<StoreRow>& rows, Terminal& io) {
  auto all = JsonText::lines();
  for (const StoreRow& row : rows) {
    auto json = JsonText::object();
    json.add("agent", row.agent).add("place", row.place).add("sessions", row.sessions).add("state", row.state);
    row.problem.empty() ? json.add_json("problem", "null") : json.add("problem", row.problem);
    json.add_json("leftOut", left_out_json(row.left_out));
    all.item_json(json.str());
  }
  io.out << terminal_safe_json(all.str()) << "\n";
}

void print_table(const std::vector<StoreRow>& rows, Terminal& io) {
  Table table({{"AGENT"}, {"FOLDER", false, true}, {"SESSIONS", true}, {"STATE", false, true}});
  for (const StoreRow& row : rows) {
    table.add({std::string(row.agent), row.place.empty() ? "-" : visible_line(row.place, kShownPath),
               grouped(row.sessions),
               std::string(row.state) + (row.problem.empty() ? "" : ": " + visible_line(row.problem, kShownPath)) +
                   left_out_words(row.left_out)});
  }
  print_with_heading(table.lines(io.out_is_terminal ? io.width : 0), io);
}

}  // namespace

int run_stores(const CommandLine& line, Terminal& io) {
  const auto chosen = chosen_stores(line);
  const auto found = chosen ? find_stores(*chosen, Access::look) : Result<std::vector<FoundStore>>(chosen.error());
  if (!found) {
    return fail(io, found.error());
  }
  std::vector<StoreRow> rows;
  for (const FoundStore& one : *found) {
    rows.push_back(row_of(one));
  }
  count_sessions(*found, rows);
  line.json ? print_json(rows, io) : print_table(rows, io);
  return kDone;
}

}  // namespace arborfs::cli
