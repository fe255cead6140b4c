// Writes to goat's sessions (goat/FORMAT.md): messages and records of the transcript under goat's lock, metadata, new
// sessions, forks, removals, and checkpoints. Messages that arrive for one session at the same time share one write and
// one sync. The metadata follows appends a moment later. Threads: any.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/formats/goat/editor.h"
#include "core/formats/goat/rewind.h"
#include "core/write/transfer.h"
#include "core/write/writer.h"

namespace arborfs::goat {

class Writer final : public arborfs::Writer {
 public:
  static constexpr std::chrono::milliseconds kQuiet{200};
  /// `catalog` must outlive this object. The metadata is updated when no append has followed for `quiet`.
  Writer(Catalog& catalog, WriteSettings settings, std::chrono::milliseconds quiet = kQuiet);

  /// Updates the metadata of the sessions that were appended to, without waiting; for tests.
  void settle() { updates_.settle(); }

  void take_back_parts() override;
  [[nodiscard]] Result<void> check(const SessionPtr& session, bool force = false) override {
    return messages_.check(session, live_policy(force));
  }
  [[nodiscard]] RoomWanted room_for(const SessionPtr& session, std::string_view verb, std::uint64_t bytes) override;
  [[nodiscard]] std::vector<RoomAt> room_for_checkpoint(const SessionPtr& session,
                                                        const CheckpointWanted& wanted) override;
  [[nodiscard]] std::vector<RoomAt> room_for_rewind(const SessionPtr& session, const std::string& checkpoint) override;
  /// JSON objects with a role are messages; others with a type are records of the transcript, whose parent is "". `at`
  /// may only name the last message.
  Result<AppendResult> append_text(const SessionPtr& session, AppendText text) override;
  [[nodiscard]] Result<void> check_json(const SessionPtr& session, std::string_view text) override;
  Result<std::string> set_title(const SessionPtr& session, std::string_view title, bool force = false,
                                std::string_view source = "user") override;
  /// With `target`, the messages up to and including that one.
  Result<CreateResult> fork(const SessionPtr& session, const std::string& target = "", bool force = false,
                            const std::optional<std::string>& title = std::nullopt) override;
  Result<CreateResult> create(const NewSession& wanted) override;
  [[nodiscard]] bool creates() const override { return true; }
  Result<AdoptResult> adopt(const Conversation& conversation, const std::string& agent) override;
  Result<void> remove(const SessionPtr& session, bool force = false) override;
  /// The metadata follows as after an append.
  Result<void> under_lock(const SessionPtr& session, const std::function<Result<void>()>& work, bool force) override;
  /// Changes nothing that an agent uses, so the session may be live.
  Result<std::string> checkpoint(const SessionPtr& session, const CheckpointWanted& wanted,
                                 bool force = false) override;
  Result<std::string> rewind(const SessionPtr& session, const std::string& checkpoint, bool dry_run,
                             bool force = false) override;

 private:
  [[nodiscard]] Result<Relocation> describe_relocation(const SessionPtr& session, const FolderMove& move) override;
  struct Places;
  void update_metadata(const SessionPtr& session);
  Result<CreateResult> put_in_place(TempFolder& folder, const std::string& id, std::uint8_t store);
  Result<Places> open_places(const SessionPtr& session);

  [[nodiscard]] Committer* committer() override { return &messages_; }
  DelayedUpdates updates_;
  Editor message_editor_;
  Editor transcript_editor_;
  Committer messages_;
  Committer transcript_;
};

/// The folder of the session (core/write/transfer.h); null if the store's sessions have no such place. `store`
/// outlives it.
std::unique_ptr<Belongings> belongings_of(const arborfs::Store& store, const LogPlace& place);

}  // namespace arborfs::goat
