// The one list of agents whose sessions arborfs reads. A row of registry.cc gives an agent's name, the place of its
// default store and the function that opens a store; discovery, --store and `arborfs stores` need nothing else. Reads
// the environment; any thread that does not race with setenv.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/finding.h"
#include "core/store/store_set.h"
#include "core/write/trash.h"
#include "core/write/writer.h"

namespace arborfs {

/// A store that the user named.
struct ChosenStore {
  std::string agent;
  std::string dir;
  bool is_agent_dir = false;  // named by agent_dir or --agent-dir, of which the last one counts
};

/// Their names, in the order in which their stores are shown.
std::vector<std::string_view> known_agents();

/// Parses AGENT=DIR. Errors: invalid_argument, for an unknown agent with the list of the known ones.
Result<ChosenStore> parse_chosen_store(std::string_view word);

/// The place of a store.
struct FoundStore {
  std::string_view agent;
  std::string place;             // the folder with the agent's state, "" if it has none of its own
  std::shared_ptr<Store> store;  // null: it is not opened
  std::string why_not;           // if it is not opened, in words
  std::optional<Error> refused;  // of check_owner, if that is the reason
};

/// The chosen stores or, without any, a row for the own store of each agent, one for pi's session dir if the user has
/// chosen one (agent_dir.h), and one for the other folder of Claude Code if it exists (claude/FORMAT.md A1). Each row
/// is followed by those of the further stores in its folder. Own stores are opened even before they exist, because they
/// are used when they appear (CONTRACT.md 7.8). If two of the user's stores are in one place, the first counts. The
/// stores are written through `disk`, which outlives them. Errors: invalid_argument for two chosen stores in one place;
/// those of check_owner for chosen stores.
Result<std::vector<FoundStore>> find_stores(const std::vector<ChosenStore>& chosen, Access access,
                                            Disk& disk = Disk::real());

/// The stores of find_stores that are opened. Errors: those of find_stores; permission if there is none, or none that
/// is present, because another user owns one.
Result<StoreSet> open_stores(const std::vector<ChosenStore>& chosen, Access access, Disk& disk = Disk::real());

/// The faults of a session and of the files that it refers to, by the rules of its agent. Changes nothing.
std::vector<Finding> examine_session(Session& session, const Catalog& catalog);

/// A file or folder of a session, or what is in a database of it.
struct OccupiedPart {
  std::string path;  // of what is in a database or a file of many sessions: that path, '#' and the session
  std::uint64_t bytes = 0;
  bool is_shared = false;  // other sessions have it too
};
/// What the session and those in its children/ occupy, with all that belongs to them (core/write/transfer.h). Takes no
/// lock and changes nothing. Errors: those of reading; not_found if the session is gone.
Result<std::vector<OccupiedPart>> occupied_by(const Session& session, const CatalogView& view);
/// The bytes of those that no other session has.
std::uint64_t own_bytes(const std::vector<OccupiedPart>& parts);
/// The parts by path, each once: without those that are in the folder of another one.
std::vector<OccupiedPart> each_once(std::vector<OccupiedPart> parts);

/// The writer for the sessions of a catalog, of all agents. `catalog` outlives it.
std::unique_ptr<Writer> make_writer(Catalog& catalog, const WriteSettings& settings);

/// The one of the open stores that a session in the trash was removed from, if the place in its note is one that this
/// store's sessions have: what the note says is not believed (CONTRACT.md 4.7). Errors: not_found if no such store is
/// open; corrupt if its sessions have no such place; unsupported if the session is of an agent whose sessions this
/// version does not remove.
Result<std::shared_ptr<Store>> store_of_trashed(const Trashed& trashed, const StoreSet& open);

/// Moves a session from the trash in this folder, "" for the user's own, back to its store, which is one of `open`.
/// Starts over if an earlier restore was killed. Errors: those of store_of_trashed; already_exists, io; busy while
/// another process restores it.
Result<void> restore_session(const std::string& trash, const Trashed& trashed, const StoreSet& open,
                             Disk& disk = Disk::real());

/// Deletes a session in the trash for good, with what a removal that was killed left of it in its store, if that is one
/// of `open`. Errors: those of Trash::erase, and those of moving what was left; already_exists if the store has only a
/// part of the session, so that the only complete one is in the trash.
Result<void> erase_session(const std::string& trash, const Trashed& trashed, const StoreSet& open,
                           Disk& disk = Disk::real());

}  // namespace arborfs
