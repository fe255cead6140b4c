// Writes to the sessions of OpenCode, even while OpenCode runs: user messages, titles, summaries of runs, and removals
// (opencode/FORMAT.md G). Each call is one change of the store that has the session (session_writes.h). Threads: any.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/formats/opencode/write/session_writes.h"
#include "core/writer/writer.h"

namespace arborfs {

class OpenCodeWriter final : public Writer {
 public:
  /// `catalog` must outlive this object.
  OpenCodeWriter(Catalog& catalog, WriteSettings settings)
      : Writer(catalog, std::move(settings)),
        in_database_(opencode::make_database_writes(Writer::settings())),
        in_files_(opencode::make_file_writes(Writer::settings())) {}

  /// In a store of JSON files. The folder of a session's messages is cleared before the next message is added to it.
  void take_back_parts() override;
  /// The text becomes a message for the agent and the model of the user's last one. `at` may only name the last
  /// message. Errors also: busy while OpenCode answers in the session; invalid_argument if the text is JSON, messages
  /// are undone, or the user has sent none yet.
  Result<AppendResult> append_text(const SessionPtr& session, AppendText text) override;
  [[nodiscard]] Result<void> check_text(const SessionPtr& session, const std::string& at) override;
  [[nodiscard]] Result<void> check_json(const SessionPtr& session, std::string_view text) override;
  [[nodiscard]] RoomWanted room_for(const SessionPtr& session, std::string_view verb, std::uint64_t bytes) override;
  [[nodiscard]] std::vector<RoomAt> room_for_new(const std::string& agent, std::uint64_t bytes,
                                                 std::uint64_t entries) override;
  /// OpenCode reads the title again before each of its changes, so the session may be live.
  Result<std::string> set_title(const SessionPtr& session, std::string_view title, bool force = false,
                                std::string_view source = "user") override;
  /// The summary is a user message that is not addressed to any agent of OpenCode. A text that begins with a brace is
  /// JSON with the facts of the run (run_summary.h); "" makes the summary from the session's messages.
  Result<AppendResult> summarize(const SessionPtr& session, const std::string& text, bool force = false) override;
  /// Removes the session and those that were started from it, however deep, as one change. Errors also: busy while
  /// OpenCode answers in one of them.
  Result<void> remove(const SessionPtr& session, bool force = false) override;
  [[nodiscard]] Result<void> check_remove(const SessionPtr& session, bool force = false) override;
  Result<AdoptResult> adopt(const Conversation& conversation, const std::string& agent) override;

 private:
  [[nodiscard]] opencode::SessionWrites& writes_of(const SessionPtr& session);
  Result<AppendResult> add(const SessionPtr& session, const opencode::NewMessage& wanted);
  const std::unique_ptr<opencode::SessionWrites> in_database_;
  const std::unique_ptr<opencode::SessionWrites> in_files_;
};

}  // namespace arborfs
