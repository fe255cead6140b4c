// A conversation of another agent as the messages and parts of OpenCode (opencode/FORMAT.md B, G5). Pure but for new
// ids; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/opencode/storage_folder.h"
#include "core/sqlite/database.h"
#include "core/write/conversation.h"

namespace arborfs::opencode {

struct AdoptedSession {
  std::string id;
  std::string slug;
  std::string title;
  std::int64_t created_ms = 0;
  std::vector<MessageRecords> messages;  // in order, ids too
};

/// The version of a program that is not known.
inline constexpr std::string_view kUnknownVersion = "local";

/// Adds the parts that could only be written as text to `counts`.
AdoptedSession adopted_session(const Conversation& conversation, AsText& counts);

/// Inserts it into OpenCode's database in one transaction, and returns its id. Errors: those of Transaction;
/// unsupported if the tables are not those of OpenCode.
Result<std::string> adopt_in_database(const std::string& database, sqlite::Transaction::Sync sync,
                                      const Conversation& conversation, AsText& counts);

struct AdoptedPlace {
  std::string project;
  std::string session;
};

/// Writes it as files of OpenCode up to 1.1 (opencode/FORMAT.md A1): parts before their message and the session last,
/// so that OpenCode sees all of it or nothing. On an error the written files are removed again, and after a kill by the
/// next writer. `storage` is the folder with all of OpenCode's files. Errors: no_space, io; busy if another arborfs
/// process holds the folder for longer than the wait.
Result<AdoptedPlace> adopt_in_files(Disk& disk, const std::string& storage, const Conversation& conversation, bool sync,
                                    AsText& counts);

/// The note of a fork that is being written to OpenCode's JSON files: the new ids of its session and its messages, by
/// which the next writer finds the files of a killed one. It is a file in the folder `storage`, in which OpenCode looks
/// only at folders, and is locked while its writer lives.
class ForkNote {
 public:
  /// Nothing of the session is written yet. Also calls clear_killed_forks(). `disk` outlives the result. Errors: those
  /// of the disk and of StorageFolder::lock().
  static Result<ForkNote> make(Disk& disk, const std::string& storage, const AdoptedSession& session, bool sync);
  ForkNote(ForkNote&& other) noexcept;
  ForkNote& operator=(ForkNote&&) = delete;
  /// Removes the note, and the files of the session unless it is complete.
  ~ForkNote();

 private:
  ForkNote(Disk& disk, std::string storage, std::string name, UniqueFd lock)
      : disk_(disk), storage_(std::move(storage)), name_(std::move(name)), lock_(std::move(lock)) {}
  Disk& disk_;
  const std::string storage_;
  std::string name_;  // "" after a move
  UniqueFd lock_;
};

/// Removes the messages and parts of sessions that were not complete when their writer was killed. `storage` is locked.
void clear_killed_forks(Disk& disk, const StorageFolder& storage);

}  // namespace arborfs::opencode
