// The file of the search index, in the private cache folder. It may be deleted, damaged or replaced at any time: what
// it says only ever saves reading a text. An open database is used by one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "core/os/disk.h"
#include "core/sqlite/connection.h"

namespace arborfs::search {

class IndexDatabase {
 public:
  /// Opens an index that exists. Errors: not_found; permission if it belongs to another user; corrupt; unsupported if
  /// another version of arborfs made it, or this SQLite has no full-text search; busy; io.
  static Result<IndexDatabase> open(const std::string& folder);
  /// Opens it or creates it, with mode 0600 in a folder with mode 0700. Errors also: no_space.
  static Result<IndexDatabase> open_or_create(Disk& disk, const std::string& folder);
  /// Renames what is in the index's place, so that a new one can be made. Replaces what was put aside before. Errors:
  /// those of the disk.
  static Result<void> put_aside(Disk& disk, const std::string& folder);
  /// Removes the index. Errors: those of the disk.
  static Result<void> remove(Disk& disk, const std::string& folder);

  [[nodiscard]] const sqlite::Connection& connection() const { return connection_; }
  /// False once the file was deleted or replaced.
  [[nodiscard]] bool is_in_place() const;

  static constexpr const char* kName = "search.db";

 private:
  IndexDatabase(sqlite::Connection connection, std::string folder, const FileStat& opened)
      : connection_(std::move(connection)), folder_(std::move(folder)), opened_(opened) {}
  static Result<IndexDatabase> connect(const Dir& dir, const std::string& folder);
  sqlite::Connection connection_;
  std::string folder_;
  FileStat opened_;
};

}  // namespace arborfs::search
