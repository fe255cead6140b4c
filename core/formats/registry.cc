#include "core/formats/registry.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "core/base/error.h"
#include "core/base/suggestion.h"
#include "core/base/words.h"
#include "core/doctor/examine.h"
#include "core/formats/claude/belongings.h"
#include "core/formats/claude/format.h"
#include "core/formats/claude/writer.h"
#include "core/formats/codex/format.h"
#include "core/formats/codex/writer.h"
#include "core/formats/goat/format.h"
#include "core/formats/goat/writer.h"
#include "core/formats/omp/edit/log_faults.h"
#include "core/formats/omp/edit/writer.h"
#include "core/formats/omp/store/agent_dir.h"
#include "core/formats/omp/store/store.h"
#include "core/formats/opal/format.h"
#include "core/formats/opal/writer.h"
#include "core/formats/opencode/belongings.h"
#include "core/formats/opencode/format.h"
#include "core/formats/opencode/writer.h"
#include "core/os/file_tree.h"
#include "core/write/writer.h"

namespace arborfs {

namespace {

using StorePtr = std::shared_ptr<Store>;
using WriterPtr = std::unique_ptr<Writer>;

/// How the user named a folder.
enum class NamedBy : std::uint8_t {
  nobody,     // it is the agent's own
  agent_dir,  // --agent-dir: omp's or pi's, as its logs say
  store,      // --store AGENT=DIR: that agent's
};
/// Opens the store in a folder.
using OpenStore = StorePtr (*)(const std::string& dir, NamedBy named, Disk& disk);

/// The place of an agent's default store, or why there is none.
struct OwnPlace {
  std::string dir;
  std::string why_none;
  OpenStore open = nullptr;  // null: as for a folder that is named
};

struct Agent {
  std::string_view name;
  std::vector<OwnPlace> (*own_places)();
  OpenStore open;
  /// Creates the writer of its sessions, or of new sessions from those of other agents; null if there is none.
  WriterPtr (*make_writer)(Catalog& catalog, const WriteSettings& settings) = nullptr;
  /// Another agent whose writer writes its sessions too.
  std::string_view also_writes = {};
  /// What belongs to a session (core/write/transfer.h), or null if no session of the store may have this place; null
  /// if arborfs removes none of the agent's sessions.
  std::unique_ptr<Belongings> (*belongings)(const Store& store, const LogPlace& place) = nullptr;
  /// Finds the faults of its sessions (examine_session); null: those that sessions of every format can have.
  std::vector<Finding> (*examine)(Session& session, const Catalog& catalog) = nullptr;
  /// Opens the further stores in that folder; null if there never are any.
  std::vector<BesideStore> (*open_beside)(const std::string& dir, bool is_own, Disk& disk) = nullptr;
};

template <std::string (*own_dir)()>
std::vector<OwnPlace> own_place() {
  return {{own_dir(), ""}};
}

template <StorePtr (*make_store)(const std::string& dir, Disk& disk)>
StorePtr open_in(const std::string& dir, NamedBy /*named*/, Disk& disk) {
  return make_store(dir, disk);
}

template <class OwnWriter>
WriterPtr make_own_writer(Catalog& catalog, const WriteSettings& settings) {
  return std::make_unique<OwnWriter>(catalog, settings);
}

/// A store that the user names as an agent's is that agent's, whatever its logs say.
omp::LogOwner owner_of_logs(NamedBy named) {
  return named == NamedBy::store ? omp::LogOwner::named : omp::LogOwner::by_log;
}

StorePtr open_omp(const std::string& dir, NamedBy named, Disk& disk) {
  return omp::make_store(named == NamedBy::nobody ? omp::own_paths() : omp::agent_dir_paths(dir), disk, omp::format(),
                         omp::LogLayout::in_folders, owner_of_logs(named));
}

StorePtr open_pi_agent_dir(const std::string& dir, NamedBy named, Disk& disk) {
  return omp::make_store(omp::agent_dir_paths(dir), disk, omp::pi_format(), omp::LogLayout::both, owner_of_logs(named));
}

StorePtr open_pi_session_dir(const std::string& dir, NamedBy named, Disk& disk) {
  return omp::make_store(omp::session_dir_paths(dir), disk, omp::pi_format(), omp::LogLayout::flat,
                         owner_of_logs(named));
}

StorePtr open_pi(const std::string& dir, NamedBy named, Disk& disk) {
  return (omp::looks_like_session_dir(dir) ? open_pi_session_dir : open_pi_agent_dir)(dir, named, disk);
}

std::vector<OwnPlace> own_places_of_pi() {
  std::vector<OwnPlace> places;
  const auto agent_dir = omp::own_pi_dir();
  places.push_back(agent_dir ? OwnPlace{*agent_dir, "", open_pi_agent_dir}
                             : OwnPlace{"", "$PI_CODING_AGENT_DIR names one folder for omp and pi; see omp"});
  if (auto chosen = omp::own_session_dir()) {
    places.push_back({std::move(chosen->dir), std::move(chosen->why_not), open_pi_session_dir});
  }
  return places;
}

StorePtr open_opencode(const std::string& dir, NamedBy named, Disk& disk) {
  return opencode::make_store(dir, named == NamedBy::nobody, disk);
}

std::vector<OwnPlace> own_places_of_claude() {
  std::vector<OwnPlace> places{{claude::own_dir(), ""}};
  if (auto other = claude::other_dir()) {
    places.push_back({*std::move(other), ""});
  }
  return places;
}

std::vector<OwnPlace> own_places_of_goat() {
  return {{"", "goat has no default folder; name one with --store goat=DIR"}};
}

/// New sessions are of the first agent.
constexpr std::array kAgents = {
    Agent{"omp", own_place<omp::own_dir>, open_omp, make_own_writer<omp::Writer>, "pi", omp::belongings_of,
          omp::examine},
    Agent{"pi", own_places_of_pi, open_pi, nullptr, "", omp::belongings_of, omp::examine},
    Agent{"opal", own_place<opal::own_dir>, open_in<opal::make_store>, make_own_writer<opal::Writer>, "",
          opal::belongings_of},
    Agent{"opencode", own_place<opencode::own_dir>, open_opencode, make_own_writer<opencode::Writer>, "",
          opencode::belongings_of, nullptr, opencode::make_stores_beside},
    Agent{"claude", own_places_of_claude, open_in<claude::make_store>, make_own_writer<claude::Writer>, "",
          claude::belongings_of},
    Agent{"codex", own_place<codex::own_dir>, open_in<codex::make_store>, make_own_writer<codex::Writer>, "",
          codex::belongings_of},
    Agent{"goat", own_places_of_goat, open_in<goat::make_store>, make_own_writer<goat::Writer>, "",
          goat::belongings_of},
};

const Agent* find_agent(std::string_view name) {
  const auto found =
      std::find_if(kAgents.begin(), kAgents.end(), [&](const Agent& agent) { return agent.name == name; });
  return found == kAgents.end() ? nullptr : &*found;
}

Error unknown_agent(std::string_view name) {
  std::vector<std::string> known;
  for (const Agent& agent : kAgents) {
    known.emplace_back(agent.name);
  }
  return {Errc::invalid_argument, "unknown agent '" + std::string(name) + "'; the known agents are " +
                                      join_words(known) + did_you_mean(nearest(std::string(name), known))};
}

/// True if both paths lead to the same folder, even through a link.
bool is_same_folder(const std::string& one, const std::string& other) {
  std::error_code failed;
  return one == other || (std::filesystem::equivalent(one, other, failed) && !failed);
}

/// True if a folder of logs of one store is the only folder of logs of the other.
bool has_folder_of(const StorePaths& one, const StorePaths& other) {
  return omp::is_session_dir(other) &&
         is_same_folder(one.sessions, std::filesystem::path(other.sessions).parent_path().string());
}

bool overlap(const StorePaths& one, const StorePaths& other) {
  return is_same_folder(one.sessions, other.sessions) || has_folder_of(one, other) || has_folder_of(other, one);
}

/// The row whose store is in the same place; null if there is none.
const FoundStore* in_same_place(const std::vector<FoundStore>& rows, const Store& store) {
  const auto same = std::find_if(rows.begin(), rows.end(), [&](const FoundStore& row) {
    return row.store && overlap(row.store->paths(), store.paths());
  });
  return same == rows.end() ? nullptr : &*same;
}

/// The session as the store names its place, whatever its note says.
Trashed in_store(Trashed trashed, const Store& store) {
  trashed.agent = store.format_of(trashed.place).agent;
  trashed.format = store.format().name;
  trashed.sessions = store.paths().sessions;
  trashed.path = store.path_of(trashed.place);
  return trashed;
}

Error too_many_stores() {
  return {Errc::invalid_argument, "a mount has at most " + std::to_string(StoreSet::kMost) + " stores"};
}

/// Adds the further stores in the folder of the last row.
void add_beside(const Agent& agent, const std::string& dir, bool is_own, Disk& disk, std::vector<FoundStore>& rows) {
  if (agent.open_beside == nullptr || !rows.back().store) {
    return;
  }
  for (BesideStore& beside : agent.open_beside(dir, is_own, disk)) {
    rows.push_back({agent.name, std::move(beside.place), std::move(beside.store), "", std::nullopt});
  }
}

FoundStore find_own(const Agent& agent, const OwnPlace& own, const std::vector<FoundStore>& before, Access access,
                    Disk& disk) {
  FoundStore row{agent.name, own.dir, nullptr, own.why_none, std::nullopt};
  if (own.dir.empty()) {
    return row;
  }
  StorePtr store = (own.open != nullptr ? own.open : agent.open)(own.dir, NamedBy::nobody, disk);
  row.place = store->paths().agent_dir;
  if (const FoundStore* same = in_same_place(before, *store)) {
    row.why_not = "its folder is the same as that of " + std::string(same->agent);
  } else if (auto may = check_owner(store->paths(), false, access); !may) {
    row.refused = may.error();
    row.why_not = may.error().message;
  } else {
    row.store = std::move(store);
  }
  return row;
}

Result<FoundStore> find_chosen(const ChosenStore& chosen, const std::vector<FoundStore>& before, Access access,
                               Disk& disk) {
  const Agent* agent = find_agent(chosen.agent);
  if (agent == nullptr) {
    return unknown_agent(chosen.agent);
  }
  StorePtr store = agent->open(chosen.dir, chosen.is_agent_dir ? NamedBy::agent_dir : NamedBy::store, disk);
  RETURN_IF_ERROR(check_owner(store->paths(), true, access));
  if (in_same_place(before, *store) != nullptr) {
    return Error{Errc::invalid_argument, "two of the stores are at " + store->paths().agent_dir};
  }
  std::string place = store->paths().agent_dir;
  return FoundStore{agent->name, std::move(place), std::move(store), "", std::nullopt};
}

}  // namespace

std::vector<std::string_view> known_agents() {
  std::vector<std::string_view> names;
  for (const Agent& agent : kAgents) {
    names.push_back(agent.name);
  }
  return names;
}

Result<ChosenStore> parse_chosen_store(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals + 1 == word.size()) {
    return Error{Errc::invalid_argument, "'" + std::string(word) + "' does not have the form AGENT=DIR"};
  }
  const std::string_view name = word.substr(0, equals);
  if (find_agent(name) == nullptr) {
    return unknown_agent(name);
  }
  return ChosenStore{std::string(name), std::string(word.substr(equals + 1)), false};
}

Result<std::vector<FoundStore>> find_stores(const std::vector<ChosenStore>& chosen, Access access, Disk& disk) {
  std::vector<FoundStore> found;
  if (chosen.size() > StoreSet::kMost) {
    return too_many_stores();
  }
  for (const ChosenStore& one : chosen) {
    ASSIGN_OR_RETURN(auto row, find_chosen(one, found, access, disk));
    found.push_back(std::move(row));
    add_beside(*find_agent(one.agent), one.dir, false, disk, found);
  }
  if (found.size() > StoreSet::kMost) {
    return too_many_stores();
  }
  if (chosen.empty()) {
    for (const Agent& agent : kAgents) {
      for (const OwnPlace& own : agent.own_places()) {
        found.push_back(find_own(agent, own, found, access, disk));
        add_beside(agent, own.dir, true, disk, found);
      }
    }
  }
  return found;
}

Result<StoreSet> open_stores(const std::vector<ChosenStore>& chosen, Access access, Disk& disk) {
  ASSIGN_OR_RETURN(auto found, find_stores(chosen, access, disk));
  std::vector<StorePtr> stores;
  bool is_any_present = false;
  std::optional<Error> refused;
  for (FoundStore& row : found) {
    if (row.store) {
      is_any_present = is_any_present || row.store->present();
      stores.push_back(std::move(row.store));
    } else if (row.refused && !refused) {
      refused = row.refused;
    }
  }
  if (refused && !is_any_present) {
    return *refused;
  }
  return StoreSet(std::move(stores));
}

std::vector<Finding> examine_session(Session& session, const Catalog& catalog) {
  const Agent* agent = find_agent(session.agent());
  return agent == nullptr || agent->examine == nullptr ? find_faults(session, catalog)
                                                       : agent->examine(session, catalog);
}

namespace {

/// The folder at a path of names below another one.
Result<Dir> folder_below(const Belongings& what, const std::string& path) {
  return Dir::open_root(path.empty() ? what.root_path() : what.root_path() + "/" + path);
}

/// The part of the session that no belongings are: rows, or its place in a file of many sessions.
Result<OccupiedPart> own_part(const Session& session) {
  const Store& store = session.store();
  const LogPlace place = session.place();
  OccupiedPart part{store.path_of(place) + (store.is_log_name(place.file) ? "" : "#" + std::string(place.stem())),
                    session.stat().size};
  if (part.bytes == 0) {
    ASSIGN_OR_RETURN(const auto log, store.open(place));
    ASSIGN_OR_RETURN(part.bytes, log->size());
  }
  return part;
}

Result<void> add_occupied(const Session& session, std::vector<OccupiedPart>& parts) {
  const Agent* const agent = find_agent(session.format().agent);
  const auto what =
      agent == nullptr || agent->belongings == nullptr ? nullptr : agent->belongings(session.store(), session.place());
  ASSIGN_OR_RETURN(const auto items, what ? what->seen() : Result<std::vector<Belonging>>(std::vector<Belonging>()));
  for (const Belonging& item : items) {
    ASSIGN_OR_RETURN(const auto folder, folder_below(*what, item.folder));
    ASSIGN_OR_RETURN(const std::uint64_t bytes, size_of_tree(folder, item.name));
    const std::string above = what->root_path() + (item.folder.empty() ? "" : "/" + item.folder);
    parts.push_back({above + "/" + item.name, bytes, item.role == Belonging::Role::shared});
  }
  if (!what || what->rows() != nullptr) {
    ASSIGN_OR_RETURN(auto own, own_part(session));
    parts.push_back(std::move(own));
  }
  return {};
}

}  // namespace

Result<std::vector<OccupiedPart>> occupied_by(const Session& session, const CatalogView& view) {
  std::vector<OccupiedPart> parts;
  RETURN_IF_ERROR(add_occupied(session, parts));
  for (const SessionPtr& child : view.descendants_of(session.number())) {
    RETURN_IF_ERROR(add_occupied(*child, parts));
  }
  return each_once(std::move(parts));
}

std::uint64_t own_bytes(const std::vector<OccupiedPart>& parts) {
  std::uint64_t bytes = 0;
  for (const OccupiedPart& part : parts) {
    bytes += part.is_shared ? 0 : part.bytes;
  }
  return bytes;
}

std::vector<OccupiedPart> each_once(std::vector<OccupiedPart> parts) {
  std::map<std::string, OccupiedPart, std::less<>> by_path;
  for (OccupiedPart& part : parts) {
    std::string path = part.path;
    by_path.emplace(std::move(path), std::move(part));
  }
  const auto is_in_another = [&](std::string_view path) {
    while ((path = path.substr(0, path.rfind('/'))).find('/') != std::string_view::npos) {
      if (by_path.contains(path)) {
        return true;
      }
    }
    return false;
  };
  std::vector<OccupiedPart> once;
  for (const auto& [path, part] : by_path) {
    if (!is_in_another(path)) {
      once.push_back(part);
    }
  }
  return once;
}

std::unique_ptr<Writer> make_writer(Catalog& catalog, const WriteSettings& settings) {
  auto writers = std::make_unique<WriterSet>(catalog, settings);
  for (const Agent& agent : kAgents) {
    if (agent.make_writer != nullptr) {
      std::vector<std::string_view> agents = {agent.name};
      if (!agent.also_writes.empty()) {
        agents.push_back(agent.also_writes);
      }
      writers->add(agents, agent.make_writer(catalog, settings));
    }
  }
  return writers;
}

Result<std::shared_ptr<Store>> store_of_trashed(const Trashed& trashed, const StoreSet& open) {
  const Agent* agent = find_agent(trashed.agent);
  if (agent == nullptr || agent->belongings == nullptr) {
    return Error{Errc::unsupported, "this version of arborfs restores no sessions of " + trashed.agent};
  }
  const auto found = std::find_if(open.begin(), open.end(), [&](const StorePtr& store) {
    const Agent* its = find_agent(store->format().agent);
    return its != nullptr && its->belongings == agent->belongings &&
           is_same_folder(store->paths().sessions, trashed.sessions);
  });
  if (found == open.end()) {
    return Error{Errc::not_found, "the session was removed from " + trashed.sessions + ", and no store of " +
                                      trashed.agent + " there is open; name the store: arborfs restore --store " +
                                      trashed.agent + "=DIR " + trashed.name};
  }
  if (!agent->belongings(**found, trashed.place)) {
    return Error{Errc::corrupt, "the file from.json of the session in the trash names a place that no session of " +
                                    trashed.agent + " has"};
  }
  return *found;
}

Result<void> restore_session(const std::string& trash, const Trashed& trashed, const StoreSet& open, Disk& disk) {
  ASSIGN_OR_RETURN(const auto store, store_of_trashed(trashed, open));
  const auto what = find_agent(trashed.agent)->belongings(*store, trashed.place);
  return Transfer(trash, disk).restore(in_store(trashed, *store), *what);
}

Result<void> erase_session(const std::string& trash, const Trashed& trashed, const StoreSet& open, Disk& disk) {
  const Agent* agent = find_agent(trashed.agent);
  const auto store = store_of_trashed(trashed, open);
  Transfer transfer(trash, disk);
  if (store) {
    const auto what = agent->belongings(**store, trashed.place);
    RETURN_IF_ERROR(transfer.check_erase(in_store(trashed, **store), *what));
    RETURN_IF_ERROR(transfer.finish(in_store(trashed, **store), *what));
  }
  return transfer.trash().erase(trashed);
}

}  // namespace arborfs
