// arborfs history: the prompts that were typed to agents, and adding one.
#include "core/views/history.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/entry/names.h"
#include "core/entry/text.h"
#include "core/json/date.h"
#include "core/os/state_dir.h"
#include "core/search/period.h"
#include "core/session/operations.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/choice.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

using history::Prompts;
using history::Typed;
using Stores = std::vector<std::shared_ptr<Store>>;

constexpr std::size_t kPromptsOnTerminal = 30;
constexpr std::size_t kLongestLine = 4096;  // of a prompt, in characters
constexpr std::int64_t kLastSecond = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;

/// The nearest time that nanoseconds since 1970 can tell.
std::int64_t printable(std::int64_t time_s) {
  return std::clamp<std::int64_t>(time_s, 0, kLastSecond);
}

/// The stores that have, or could have, a prompt history.
Result<Stores> stores_with_history(const CommandLine& line, Access access) {
  ASSIGN_OR_RETURN(const auto chosen, chosen_stores(line));
  ASSIGN_OR_RETURN(const auto found, find_stores(chosen, access));
  Stores stores;
  for (const FoundStore& one : found) {
    const bool is_meant = line.agent.empty() || one.agent == line.agent;
    if (is_meant && one.store && one.store->prompt_history() != nullptr) {
      stores.push_back(one.store);
    } else if (is_meant && one.refused && chosen.empty() && one.agent == "omp") {
      return *one.refused;
    }
  }
  if (stores.empty()) {
    return Error{Errc::not_found,
                 "arborfs reads the prompt histories of omp, claude and codex; name the folder of one with --store "
                 "AGENT=DIR"};
  }
  return stores;
}

bool has_history(const std::shared_ptr<Store>& store) {
  return store->prompt_history()->state().has_value();
}

Error no_history(const Stores& stores) {
  std::string paths;
  for (const auto& store : stores) {
    paths += (paths.empty() ? "" : ", nor at ") + visible_line(store->prompt_history()->path(), kLongestLine);
  }
  return {Errc::not_found, "there is no prompt history at " + paths};
}

/// The prompts of the project that the word names, or of the nearest folder above that has any; else of those whose
/// names contain the word.
Prompts find_in_project(const Stores& stores, history::PromptQuery wanted, const std::string& word,
                        const std::string& home) {
  const MeantProject named(word);
  const auto is_in_time = std::move(wanted.passes);
  for (std::optional<MeantProject> meant = named; meant; meant = meant->above()) {
    bool is_named = false;
    wanted.passes = [&](const Prompt& prompt) {
      const bool is_meant = meant->is(names::project_name(prompt.cwd, home), prompt.cwd);
      is_named = is_named || is_meant;
      return is_meant && is_in_time(prompt);
    };
    Prompts exact = history::find_prompts(stores, wanted);
    if (is_named) {
      return exact;
    }
  }
  wanted.passes = [&](const Prompt& prompt) {
    return is_in_time(prompt) && named.is_part_of(names::project_name(prompt.cwd, home));
  };
  return history::find_prompts(stores, wanted);
}

Prompts find(const CommandLine& line, const Stores& stores, Terminal& io) {
  history::PromptQuery wanted;
  for (const std::string& word : line.query) {
    const auto words = history::words_of(word);
    wanted.words.insert(wanted.words.end(), words.begin(), words.end());
  }
  wanted.limit = line.limit.value_or(io.out_is_terminal && !line.json ? kPromptsOnTerminal : 0);
  const auto since = start_of(line.since);
  const auto until = end_of(line.until);
  wanted.passes = [since, until](const Prompt& prompt) {
    const std::int64_t at = printable(prompt.time_s) * 1000;
    return (!since || at >= *since) && (!until || at < *until);
  };
  return line.project.empty() ? history::find_prompts(stores, wanted)
                              : find_in_project(stores, std::move(wanted), line.project, home_of(io));
}

void print_json(const Prompts& prompts, Terminal& io) {
  auto all = JsonText::lines();
  for (const Typed& typed : prompts.found) {
    const Prompt& prompt = typed.prompt;
    auto json = JsonText::object();
    json.add("time", json::iso_time(printable(prompt.time_s) * 1000)).add("agent", typed.agent);
    json.add("project", names::project_name(prompt.cwd, home_of(io)));
    prompt.cwd.empty() ? json.add_json("cwd", "null") : json.add("cwd", prompt.cwd);
    prompt.session.empty() ? json.add_json("session", "null") : json.add("session", prompt.session);
    json.add("prompt", prompt.text);
    all.item_json(json.str());
  }
  io.out << terminal_safe_json(all.str()) << "\n";
}

/// With the agents, if there are histories of several.
void print_table(const Prompts& prompts, Terminal& io) {
  using Columns = std::vector<Table::Column>;
  const bool has_agents = prompts.histories > 1;
  Columns columns{{"TIME", false, false, 3}, {"PROJECT", false, true, 2}, {"PROMPT", false, true}};
  if (has_agents) {
    columns.insert(columns.begin() + 1, {"AGENT", false, false, 1});
  }
  Table table(columns);
  for (const Typed& typed : prompts.found) {
    const Prompt& prompt = typed.prompt;
    std::vector<std::string> cells{time_words(printable(prompt.time_s) * 1'000'000'000)};
    if (has_agents) {
      cells.emplace_back(typed.agent);
    }
    cells.push_back(visible_line(names::project_name(prompt.cwd, home_of(io)), kTitleCharacters));
    cells.push_back(visible_line(prompt.text, kLongestLine));
    table.add(std::move(cells));
  }
  print_with_heading(table.lines(io.out_is_terminal ? io.width : 0), io);
}

bool is_addition(const CommandLine& line) {
  return !line.query.empty() && line.query.front() == "add";
}

/// The words after `add`; for `-` or none, standard input.
std::string text_to_add(const CommandLine& line, Terminal& io) {
  std::string text;
  for (std::size_t i = 1; i < line.query.size(); ++i) {
    text += (i == 1 ? "" : " ") + line.query[i];
  }
  const bool is_input = line.query.size() == 1 || (line.query.size() == 2 && text == "-");
  return is_input && io.in != nullptr ? std::string(std::istreambuf_iterator<char>(*io.in), {}) : text;
}

int add(const CommandLine& line, Terminal& io) {
  if (line.limit || !line.project.empty() || !line.since.empty() || !line.until.empty()) {
    return misused(io, "history", "'history add' has neither --limit nor --project, --since and --until");
  }
  if (line.query.size() == 1 && io.in_is_terminal) {
    return misused(io, "history", "a prompt is needed: after 'add', or on standard input");
  }
  const auto stores = stores_with_history(line, Access::write);
  if (!stores) {
    return fail(io, stores.error());
  }
  std::error_code failed;
  const auto existing = std::find_if(stores->begin(), stores->end(), has_history);
  const Store& store = **(existing == stores->end() ? stores->begin() : existing);
  PromptHistory& history = *store.prompt_history();
  auto done = history.add({0, text_to_add(line, io), std::filesystem::current_path(failed).string(), ""}, {});
  if (!done) {
    return fail(io, done.error());
  }
  if (!done->empty()) {
    Operation operation;
    operation.verb = "history add";
    operation.agent = store.format().agent;
    operation.dir = store.paths().agent_dir;
    operation.effects = *std::move(done);
    Operations(state_path(""), Disk::real()).add(std::move(operation));
  }
  if (line.json) {
    io.out << terminal_safe_json(JsonText::object().add("history", history.path()).str()) << "\n";
  }
  return kDone;
}

}  // namespace

/// A history that cannot be read is an error only if no other can.
int run_history(const CommandLine& line, Terminal& io) {
  if (is_addition(line)) {
    return add(line, io);
  }
  const auto stores = stores_with_history(line, Access::look);
  if (!stores) {
    return fail(io, stores.error());
  }
  const Prompts prompts = find(line, *stores, io);
  if (prompts.histories == 0) {
    return fail(io, prompts.unread.empty() ? no_history(*stores) : prompts.unread.front());
  }
  if (line.json) {
    print_json(prompts, io);
  } else if (!prompts.found.empty()) {
    print_table(prompts, io);
  }
  for (const Error& error : prompts.unread) {
    io.err << "arborfs: " << visible(error.message) << "\n";
  }
  if (prompts.has_more && io.err_is_terminal) {
    io.err << "there are more prompts; -n 0 shows all\n";
  }
  if (prompts.found.empty() && io.err_is_terminal) {
    io.err << "no prompt matches\n";
  }
  return prompts.found.empty() ? kFailed : kDone;
}

}  // namespace arborfs::cli
