// Writes to the sessions of OpenCode, even while OpenCode runs: user messages, titles, summaries of runs, and removals
// (opencode/FORMAT.md G). Each call is one change of the store that has the session. Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/opencode/new_message.h"
#include "core/formats/opencode/reader.h"
#include "core/store/store.h"
#include "core/write/commit.h"
#include "core/write/writer.h"

namespace arborfs::opencode {

/// The changes that Writer makes to a session in one kind of store. Each change is made completely or not at
/// all, even while OpenCode runs. Threads: any.
class SessionWrites {
 public:
  virtual ~SessionWrites() = default;
  /// Errors also: those of check_follows(); invalid_argument if messages are undone.
  /// Adds to `effects` what is written.
  virtual Result<AppendResult> add(const arborfs::Store& store, const LogPlace& place, const NewMessage& wanted,
                                   std::vector<Effect>& effects) = 0;
  /// Fails as add() would fail now. Reads only.
  virtual Result<void> check_add(const arborfs::Store& store, const LogPlace& place, const NewMessage& wanted) = 0;
  /// For a message or title that adds `bytes` to the session (Writer::room_for).
  [[nodiscard]] virtual RoomWanted room_for(const arborfs::Store& store, const LogPlace& place,
                                            std::uint64_t bytes) const = 0;
  /// `is_automatic`: only a default title is replaced. Returns the title in effect.
  virtual Result<std::string> set_title(const arborfs::Store& store, const LogPlace& place, const std::string& wanted,
                                        bool is_automatic, std::vector<Effect>& effects) = 0;
  /// Moves the session, and all sessions that were started from it, to the trash (trash.h). Errors also: busy while
  /// OpenCode answers in one of them, unless `force`.
  virtual Result<Trashed> remove(const arborfs::Store& store, const LogPlace& place, const std::string& title,
                                 bool force) = 0;
  /// Errors: busy if OpenCode answers in the session or in one that was started from it.
  virtual Result<void> check_quiet(const arborfs::Store& store, const LogPlace& place) = 0;
  /// The messages of the session, and of those that were started from it.
  /// Adds what makes OpenCode find the session in another folder. Reads only.
  virtual Result<void> describe(const arborfs::Store& store, const FolderMove& move, Relocation& wanted) = 0;
  /// Runs work that changes the session, as far as others of arborfs are kept out of the store.
  virtual Result<void> under_lock(const arborfs::Store& store, const std::function<Result<void>()>& work) = 0;
  using Take = std::function<void(const std::string& session, std::string_view message)>;
  virtual Result<void> each_message(const arborfs::Store& store, const LogPlace& place, const Take& take) = 0;
};

/// A change is a short transaction, or a few files, which lock the store themselves.
class Editor final : public arborfs::Editor {
 public:
  [[nodiscard]] Result<void> check(const Session::Guard& /*now*/) const override { return {}; }
  [[nodiscard]] Result<std::unique_ptr<Plan>> begin(const SessionPtr& session) override;
  Result<void> complete(const SessionPtr& /*session*/, const Held& /*held*/, Plan& /*plan*/) override { return {}; }
};

/// `settings` outlive the result.
std::unique_ptr<SessionWrites> make_database_writes(const WriteSettings& settings);
std::unique_ptr<SessionWrites> make_file_writes(const WriteSettings& settings);

class Writer final : public arborfs::Writer {
 public:
  /// `catalog` must outlive this object.
  Writer(Catalog& catalog, WriteSettings settings)
      : arborfs::Writer(catalog, std::move(settings)),
        in_database_(make_database_writes(arborfs::Writer::settings())),
        in_files_(make_file_writes(arborfs::Writer::settings())),
        changes_(catalog, {}, editor_) {}

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
  /// JSON with the facts of the run; "" makes the summary from the session's messages.
  Result<AppendResult> summarize(const SessionPtr& session, const std::string& text, bool force = false) override;
  /// Removes the session and those that were started from it, however deep, as one change. Errors also: busy while
  /// OpenCode answers in one of them.
  Result<void> remove(const SessionPtr& session, bool force = false) override;
  [[nodiscard]] Result<void> check_remove(const SessionPtr& session, bool force = false) override;
  Result<void> under_lock(const SessionPtr& session, const std::function<Result<void>()>& work, bool force) override;
  Result<AdoptResult> adopt(const Conversation& conversation, const std::string& agent) override;

 private:
  [[nodiscard]] Result<Relocation> describe_relocation(const SessionPtr& session, const FolderMove& move) override;
  [[nodiscard]] SessionWrites& writes_of(const SessionPtr& session);
  Result<AppendResult> add(const SessionPtr& session, std::string_view verb, const NewMessage& wanted);
  /// Whether OpenCode answers in the session is for `write` to find out: nothing else keeps a change from it.
  using Write = std::function<Result<void>(std::vector<Effect>& effects)>;
  Result<void> change(const SessionPtr& session, std::string_view verb, const Write& write);
  [[nodiscard]] Committer* committer() override { return &changes_; }
  const std::unique_ptr<SessionWrites> in_database_;
  const std::unique_ptr<SessionWrites> in_files_;
  Editor editor_;
  Committer changes_;
};

}  // namespace arborfs::opencode
