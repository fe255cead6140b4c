// Changes of sessions in OpenCode's database, each in one short transaction, without events (opencode/FORMAT.md G).
// The database's own lock makes writers take turns. Threads: any.
#pragma once

#include "core/formats/opencode/write/session_writes.h"

namespace arborfs::opencode {

class DatabaseWrites final : public SessionWrites {
 public:
  /// `settings` outlive this object.
  explicit DatabaseWrites(const WriteSettings& settings) : settings_(settings) {}

  Result<AppendResult> add(const SessionStore& store, const LogPlace& place, const NewMessage& wanted) override;
  Result<void> check_add(const SessionStore& store, const LogPlace& place, const NewMessage& wanted) override;
  [[nodiscard]] RoomWanted room_for(const SessionStore& store, const LogPlace& place,
                                    std::uint64_t bytes) const override;
  Result<std::string> set_title(const SessionStore& store, const LogPlace& place, const std::string& wanted,
                                bool is_automatic) override;
  Result<void> remove(const SessionStore& store, const LogPlace& place, const std::string& title, bool force) override;
  Result<void> check_quiet(const SessionStore& store, const LogPlace& place) override;
  Result<void> each_message(const SessionStore& store, const LogPlace& place, const Take& take) override;

 private:
  const WriteSettings& settings_;
};

}  // namespace arborfs::opencode
