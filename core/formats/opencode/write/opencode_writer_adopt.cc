// The conversation of another agent as a new session of OpenCode, in its database or its files.
#include <dirent.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/result_macros.h"
#include "core/formats/opencode/opencode_format.h"
#include "core/formats/opencode/opencode_store.h"
#include "core/formats/opencode/write/adopt_database.h"
#include "core/formats/opencode/write/adopt_files.h"
#include "core/formats/opencode/write/belongings.h"
#include "core/formats/opencode/write/fork_note.h"
#include "core/formats/opencode/write/opencode_writer.h"
#include "core/formats/opencode/write/storage_folder.h"

namespace arborfs {
namespace {

/// Removes what killed writers left in a folder, and in the folders in it.
void clear(Disk& disk, const Result<Dir>& folder) {
  const auto entries = folder ? folder->list() : Result<std::vector<DirEntry>>(folder.error());
  if (!entries) {
    return;
  }
  opencode::clear_drafts(disk, *folder);
  for (const DirEntry& entry : *entries) {
    const auto below = entry.type == DT_DIR ? folder->open_in(entry.name) : Result<Dir>(Errc::not_found, "");
    if (below) {
      opencode::clear_drafts(disk, *below);
    }
  }
}

/// Moves the files that a killed removal or restore left in a store to their sessions in the trash.
void finish_removals(const std::string& trash, const SessionStore& store, const opencode::StorageFolder& storage) {
  Transfer transfer(trash, store.disk());
  for (const Trashed& one : transfer.trash().list()) {
    if (one.format == opencode_files_format().name && one.sessions == store.paths().sessions) {
      static_cast<void>(transfer.finish(one, *opencode::belongings_in_files(store, one.place, &storage)));
    }
  }
}

}  // namespace

void OpenCodeWriter::take_back_parts() {
  for (const auto& store : catalog().stores()) {
    if (&store->format() == &opencode_files_format()) {
      const auto lock = opencode::StorageFolder::lock(opencode::storage_of(store->paths().sessions));
      for (const char* kind : {"project", "session"}) {
        clear(store->disk(), lock ? lock->folder(kind) : Result<Dir>(lock.error()));
      }
      if (lock) {
        opencode::clear_killed_forks(store->disk(), *lock);
        finish_removals(settings().trash, *store, *lock);
      }
    }
  }
}

/// In a database, rows and indexes take twice their text, and the -wal has their pages too. Of files, each entry has
/// two and two folders, in blocks of their own.
std::vector<RoomAt> OpenCodeWriter::room_for_new(const std::string& agent, std::uint64_t bytes, std::uint64_t entries) {
  constexpr std::uint64_t kBlock = 4 << 10;
  std::vector<RoomAt> room = Writer::room_for_new(agent, bytes, entries);
  if (room.empty()) {
    return room;
  }
  RoomWanted& wanted = room.front().wanted;
  const SessionStore& store = *catalog().stores().at(*catalog().stores().first_of(agent));
  if (&store.format() == &opencode_files_format()) {
    wanted = {bytes + (entries + 2) * 4 * kBlock + 4 * RoomWanted::kBeside, 4 * entries + 8};
  } else {
    wanted = {2 * bytes + in_database_.room_for(store, {}, bytes).bytes, 4};
  }
  return room;
}

Result<AdoptResult> OpenCodeWriter::adopt(const Conversation& conversation, const std::string& agent) {
  const std::uint8_t number = *catalog().stores().first_of(agent);
  SessionStore& store = *catalog().stores().at(number);
  AdoptResult adopted{{}, conversation.as_text, 0};
  const bool sync = settings().durability == Durability::synced;
  LogPlace place{"", "", number};
  if (&store.format() == &opencode_format()) {
    const std::string database = store.path_of(place);
    if (const auto found = Dir::stat_root(database); !found && found.error().code == Errc::not_found) {
      return Error{Errc::not_found, "there is no database " + database};
    }
    ASSIGN_OR_RETURN(place.file,
                     opencode::adopt_in_database(
                         database, sync ? sqlite::Transaction::Sync::full : sqlite::Transaction::Sync::left_to_kernel,
                         conversation, adopted.as_text));
    place.folder = database.substr(database.rfind('/') + 1);
  } else {
    const std::string storage = opencode::storage_of(store.paths().sessions);
    ASSIGN_OR_RETURN(auto made, opencode::adopt_in_files(store.disk(), storage, conversation, sync, adopted.as_text));
    place.folder = std::move(made.project);
    place.file = std::move(made.session);
  }
  place.file += opencode::kPlaceSuffix;
  ASSIGN_OR_RETURN(adopted.made, show_made(place));
  return adopted;
}

}  // namespace arborfs
