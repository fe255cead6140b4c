// Writes to the sessions of omp and of pi, each by the rules of its log (dialect.h). Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/omp/edit/append_command.h"
#include "core/formats/omp/edit/editor.h"
#include "core/formats/omp/edit/log_rewrite.h"
#include "core/write/transfer.h"
#include "core/write/writer.h"

namespace arborfs::omp {

class Writer final : public arborfs::Writer {
 public:
  /// `catalog` must outlive this object.
  Writer(Catalog& catalog, WriteSettings settings);

  void take_back_parts() override;
  [[nodiscard]] Result<void> check(const SessionPtr& session, bool force = false) override {
    return changes_.check(session, live_policy(force));
  }
  [[nodiscard]] RoomWanted room_for(const SessionPtr& session, std::string_view verb, std::uint64_t bytes) override;
  Result<AppendResult> append_text(const SessionPtr& session, AppendText wanted) override;
  [[nodiscard]] Result<void> check_json(const SessionPtr& session, std::string_view text) override;
  /// As append_text(), of a command that was parsed. `at` as AppendText::at.
  Result<AppendResult> append(const SessionPtr& session, AppendCommand command, const std::string& at = "");
  Result<MovedLeaf> branch(const SessionPtr& session, const std::string& target, const std::string& summary = "",
                           bool force = false, bool pin = false) override;
  [[nodiscard]] Result<void> check_branch(const SessionPtr& session, const std::string& target) override;
  Result<void> move_back(const SessionPtr& session, const LeafMove& move) override;
  Result<AppendResult> label(const SessionPtr& session, const std::vector<LabelChange>& changes,
                             bool force = false) override;
  /// By the rule of omp/FORMAT.md E6. pi's title is an entry.
  Result<std::string> set_title(const SessionPtr& session, std::string_view title, bool force = false,
                                std::string_view source = "user") override;
  /// Rewrites the log without a change; a log of an old version is migrated.
  Result<void> rewrite(const SessionPtr& session, bool force = false);
  /// Rewrites the log with the edits that `plan` makes from the session's state; calls `plan` again if another program
  /// wrote meanwhile. The log need not have a valid header. Never writes to a live session; `maybe_live` allows one
  /// that may be live. Errors also: those of `plan`.
  using EditPlan = std::function<Result<std::vector<LogEdit>>(const Session&)>;
  Result<void> edit(const SessionPtr& session, const EditPlan& plan, bool maybe_live = false);
  /// For `title` see ForkPlan (new_log.h).
  Result<CreateResult> fork(const SessionPtr& session, const std::string& target = "", bool force = false,
                            const std::optional<std::string>& title = std::nullopt) override;
  /// Without an agent: of omp, or of pi if only logs of pi are found.
  Result<CreateResult> create(const NewSession& wanted) override;
  [[nodiscard]] bool creates() const override { return true; }
  /// In pi's own format if `agent` is pi.
  Result<AdoptResult> adopt(const Conversation& conversation, const std::string& agent) override;
  Result<CreateResult> move(const SessionPtr& session, const std::string& cwd, bool force = false) override;
  Result<void> remove(const SessionPtr& session, bool force = false) override;

 private:
  [[nodiscard]] Result<Relocation> describe_relocation(const SessionPtr& session, const FolderMove& move) override;
  /// The place of a log whose session moves to another working directory, which is `target`, resolved.
  [[nodiscard]] Result<LogPlace> place_for(const SessionPtr& session, Dialect dialect, const std::string& target);
  Result<void> put_blobs(const Session& session, const std::vector<EntryDraft>& drafts);
  struct Target;
  using SetLeaf = std::function<Result<void>(AppendBatch&)>;
  Result<Target> find_branch(const SessionPtr& session, const std::string& target, bool force);
  Result<AppendResult> append_at(const SessionPtr& session, AppendCommand command, const SetLeaf& set_leaf);
  Result<MovedLeaf> move_leaf(const SessionPtr& session, const Target& target, bool force);
  Result<void> append_name(const SessionPtr& session, const std::string& title, Dialect dialect, bool force);
  Result<void> set_slot_title(const SessionPtr& session, const std::string& title, std::string_view source,
                              const std::string& previous, bool force);
  using WriteDraft = std::function<Result<CopiedLog>(TempFile&)>;
  Result<void> rewrite_with(const SessionPtr& session, std::string_view verb, LivePolicy policy,
                            const WriteDraft& write, bool mends = false);
  Result<void> rewrite_header(const SessionPtr& session, std::string_view verb, bool force, const HeaderChange& change);
  Result<CreateResult> made_at(const LogPlace& place);
  [[nodiscard]] Committer* committer() override { return &changes_; }
  Editor editor_;
  Committer changes_;
};

/// The log, its artifacts and its backups (core/write/transfer.h); null if the store's sessions have no such place.
/// `store` outlives it.
std::unique_ptr<Belongings> belongings_of(const arborfs::Store& store, const LogPlace& place);

}  // namespace arborfs::omp
