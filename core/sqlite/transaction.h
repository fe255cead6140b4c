// One change to another program's database, made completely or not at all while that program may run: a connection of
// its own, with foreign keys on and the write lock from the start. Never changes the schema or a setting that the
// database keeps. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "core/sqlite/connection.h"

namespace arborfs::sqlite {

/// The destructor rolls back uncommitted changes.
class Transaction {
 public:
  enum class Sync : std::uint8_t { full, left_to_kernel };
  /// A connection that may read before it begins to write. Errors: as begin.
  static Result<Connection> connect(const std::string& path, Sync sync);
  /// Waits up to kPatienceMs for other writers. Errors: busy after that; not_found, permission, corrupt, io.
  static Result<Transaction> begin(Connection connection);
  static Result<Transaction> begin(const std::string& path, Sync sync);
  [[nodiscard]] const Connection& connection() const { return connection_; }
  /// Errors: busy, no_space, io; nothing is changed then.
  Result<void> commit() const;

  static constexpr int kPatienceMs = 5000;

 private:
  explicit Transaction(Connection connection) : connection_(std::move(connection)) {}
  Connection connection_;
};

}  // namespace arborfs::sqlite
