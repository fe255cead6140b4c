// Changes of sessions in OpenCode's JSON files (opencode/FORMAT.md F). Each file is written under a temporary name that
// OpenCode ignores, and renamed: parts before their message, the message before the session. Processes of arborfs take
// turns; OpenCode takes no lock, so a file that it wrote meanwhile is read again. Threads: any.
#pragma once

#include "core/formats/opencode/write/session_writes.h"

namespace arborfs::opencode {

class FileWrites final : public SessionWrites {
 public:
  /// `settings` outlive this object.
  explicit FileWrites(const WriteSettings& settings) : settings_(settings) {}

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
  [[nodiscard]] bool syncs() const { return settings_.durability == Durability::synced; }
  const WriteSettings& settings_;
};

}  // namespace arborfs::opencode
