// Writes to the sessions in OpenCode's database, also while OpenCode runs: messages of the user, titles, and removals
// (opencode/FORMAT.md G). Each call is one short transaction, without events. Threads: any; the database's own lock
// makes writers take turns.
#pragma once

#include <string>
#include <string_view>

#include "core/writer/writer.h"

namespace arborfs {

class OpenCodeWriter final : public Writer {
 public:
  /// `catalog` must outlive this object.
  OpenCodeWriter(Catalog& catalog, WriteSettings settings) : Writer(catalog, std::move(settings)) {}

  /// The text becomes a message for the agent and the model of the user's last one. `at` may only name the last
  /// message. Errors also: busy while OpenCode answers in the session; invalid_argument if the text is JSON, messages
  /// are undone, or the user has sent none yet.
  Result<AppendResult> append_text(const SessionPtr& session, AppendText text) override;
  [[nodiscard]] Result<void> check_json(const SessionPtr& session, std::string_view text) override;
  /// OpenCode reads the title again before each of its changes, so the session may be live.
  Result<std::string> set_title(const SessionPtr& session, std::string_view title, bool force = false,
                                std::string_view source = "user") override;
  /// With the sessions that were started from it, however deep, as one change (opencode_trash.h). Errors also: busy
  /// while OpenCode answers in one of them.
  Result<void> remove(const SessionPtr& session, bool force = false) override;
  [[nodiscard]] Result<void> check_remove(const SessionPtr& session, bool force = false) override;
  Result<AdoptResult> adopt(const Conversation& conversation, const std::string& agent) override;
};

}  // namespace arborfs
