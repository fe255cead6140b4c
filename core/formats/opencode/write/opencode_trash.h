// The trash for sessions of OpenCode. A session in its database is moved with the sessions that were started from it,
// however deep: their rows, including secrets of shares, are lines of JSON in files/rows.json, and the files of their
// changes are in files/. They are complete on the disk before one short transaction removes the rows, so a kill at any
// point leaves the sessions in the database, in the trash, or in both. Any thread.
#pragma once

#include <string>
#include <vector>

#include "core/formats/opencode/write/session_rows.h"
#include "core/sqlite/transaction.h"
#include "core/writer/trash.h"

namespace arborfs {

class OpenCodeTrash : public Trash {
 public:
  using Trash::Trash;
  struct How {
    sqlite::Transaction::Sync sync = sqlite::Transaction::Sync::full;
    bool force = false;  // even while OpenCode is answering in one of the sessions
  };
  /// Errors: not_found; busy (OpenCode answers, or another program holds the database for longer than the wait); stale
  /// if the sessions keep changing; those of the disk and the database. The sessions are then in the database, unless
  /// the message says that a copy is in the trash.
  Result<Trashed> take(const SessionStore& store, const LogPlace& place, const std::string& title, How how);
  /// Restores all rows and files in one transaction. If an earlier restore was killed after that, it only empties the
  /// trash. Errors: already_exists, io; busy as take(), or while another process restores it.
  Result<void> restore(const Trashed& trashed);

 private:
  struct Saved;
  Result<Saved> save(const sqlite::Connection& connection, const std::string& session, const TrashFolder& folder,
                     How how);
  Result<void> remove_rows(sqlite::Connection connection, Saved& saved, How how);
  Result<Trashed> try_take(const SessionStore& store, const LogPlace& place, const std::string& title, How how);
};

}  // namespace arborfs
