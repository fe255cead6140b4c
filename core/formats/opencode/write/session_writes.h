// The changes that OpenCodeWriter makes to a session in one kind of store. Each change is made completely or not at
// all, even while OpenCode runs. Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/opencode/opencode_reader.h"
#include "core/formats/opencode/write/new_message.h"
#include "core/store/session_store.h"
#include "core/writer/writer.h"

namespace arborfs::opencode {

class SessionWrites {
 public:
  virtual ~SessionWrites() = default;
  /// Errors also: those of check_follows(); invalid_argument if messages are undone.
  virtual Result<AppendResult> add(const SessionStore& store, const LogPlace& place, const NewMessage& wanted) = 0;
  /// Fails as add() would fail now. Reads only.
  virtual Result<void> check_add(const SessionStore& store, const LogPlace& place, const NewMessage& wanted) = 0;
  /// For a message or title that adds `bytes` to the session (Writer::room_for).
  [[nodiscard]] virtual RoomWanted room_for(const SessionStore& store, const LogPlace& place,
                                            std::uint64_t bytes) const = 0;
  /// `is_automatic`: only a default title is replaced. Returns the title in effect.
  virtual Result<std::string> set_title(const SessionStore& store, const LogPlace& place, const std::string& wanted,
                                        bool is_automatic) = 0;
  /// Moves the session, and all sessions that were started from it, to the trash (trash.h). Errors also: busy while
  /// OpenCode answers in one of them, unless `force`.
  virtual Result<void> remove(const SessionStore& store, const LogPlace& place, const std::string& title,
                              bool force) = 0;
  /// Errors: busy if OpenCode answers in the session or in one that was started from it.
  virtual Result<void> check_quiet(const SessionStore& store, const LogPlace& place) = 0;
  /// The messages of the session, and of those that were started from it.
  using Take = std::function<void(const std::string& session, std::string_view message)>;
  virtual Result<void> each_message(const SessionStore& store, const LogPlace& place, const Take& take) = 0;
};

/// `settings` outlive the result.
std::unique_ptr<SessionWrites> make_database_writes(const WriteSettings& settings);
std::unique_ptr<SessionWrites> make_file_writes(const WriteSettings& settings);

}  // namespace arborfs::opencode
