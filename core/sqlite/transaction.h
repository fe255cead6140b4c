// One change to another program's database, made completely or not at all while that program may run: a connection of
// its own, with foreign keys on and the write lock from the start. Never changes the schema or a setting that the
// database keeps. Used by one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/sqlite/connection.h"

namespace arborfs::sqlite {

/// The destructor rolls back uncommitted changes.
class Transaction {
 public:
  enum class Sync : std::uint8_t { full, left_to_kernel };
  static constexpr std::chrono::milliseconds kPatience{5000};
  /// A connection that may read before it begins to write; it waits up to `patience` for other programs. Errors: as
  /// begin; read_only, permission or not_permitted if the database may not be written.
  static Result<Connection> connect(const std::string& path, Sync sync, std::chrono::milliseconds patience = kPatience);
  /// Waits for other writers. Errors: busy after that; not_found, permission, corrupt, io.
  static Result<Transaction> begin(Connection connection);
  static Result<Transaction> begin(const std::string& path, Sync sync, std::chrono::milliseconds patience = kPatience);
  [[nodiscard]] const Connection& connection() const { return connection_; }
  /// Errors: busy, no_space, io; nothing is changed then.
  Result<void> commit() const;
  /// After a failed commit: true if even a power cut does not turn it into a success. False if all was written and only
  /// a sync failed.
  [[nodiscard]] bool is_surely_undone() const;

 private:
  explicit Transaction(Connection connection) : connection_(std::move(connection)) {}
  Connection connection_;
};

}  // namespace arborfs::sqlite
