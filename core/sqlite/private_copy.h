// A private copy of a database with its -wal or -journal, for a database that cannot be read in place without writing
// to it or next to it. The copy's files are unlinked once it is open. Used by one thread at a time. Internal to
// core/sqlite.
#pragma once

#include <memory>
#include <string>

#include "core/os/disk.h"
#include "core/sqlite/connection.h"

namespace arborfs::sqlite {

class PrivateCopy {
 public:
  /// Copies the database at `path`, which `source` has open, through `disk` to the state folder. Errors: those of the
  /// disk, and of Connection::open.
  static Result<std::unique_ptr<PrivateCopy>> make(const Connection& source, const std::string& path, Disk& disk);
  [[nodiscard]] const Connection& connection() const { return connection_; }

 private:
  explicit PrivateCopy(Connection connection) : connection_(std::move(connection)) {}
  const Connection connection_;
};

/// The `file:` URI of an absolute path, to which parameters may be added.
std::string file_uri(const std::string& path);

}  // namespace arborfs::sqlite
