// Writes to threads of Codex: names, messages and whole turns, removals, new threads (codex/FORMAT.md H). Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/formats/codex/branch.h"
#include "core/formats/codex/editor.h"
#include "core/write/transfer.h"
#include "core/write/writer.h"

namespace arborfs::codex {

class Writer final : public arborfs::Writer {
 public:
  /// `catalog` must outlive this object.
  Writer(Catalog& catalog, WriteSettings settings)
      : arborfs::Writer(catalog, std::move(settings)),
        thread_editor_(Editor::Guard::lock),
        row_editor_(Editor::Guard::none),
        threads_(catalog, {syncs(), this->settings().write_live}, thread_editor_),
        rows_(catalog, {syncs(), this->settings().write_live}, row_editor_) {}

  /// Also removes the files that killed processes left in Codex's folder under temporary names.
  void take_back_parts() override;
  [[nodiscard]] Result<void> check(const SessionPtr& session, bool force = false) override {
    return threads_.check(session, live_policy(force));
  }
  /// A text is a turn that only has the user's message. `at` may only name the leaf. {"queue":"text"} goes to Codex's
  /// queue instead of the log (H8); the id is that of its row. Errors also: busy while a program has the thread loaded,
  /// even with `force`, but for the queue.
  Result<AppendResult> append_text(const SessionPtr& session, AppendText text) override;
  [[nodiscard]] Result<void> check_json(const SessionPtr& session, std::string_view text) override;
  /// A program that has the thread loaded takes the name over, so the session may be live.
  Result<std::string> set_title(const SessionPtr& session, std::string_view title, bool force = false,
                                std::string_view source = "user") override;
  /// Pins: also beside a program that has the thread loaded. Archives: errors also busy as for append_text().
  Result<void> set_mark(const SessionPtr& session, Mark mark, bool is_set, bool force = false) override;
  /// Codex goes back to the end of a turn: a new segment, or an earlier one, becomes the active one; a legacy thread
  /// drops its last turns. Both are for Codex too, so `pin` adds nothing. Errors also: invalid_argument for an entry
  /// within a turn, and in a legacy thread for one that is not on the path to the leaf; not_permitted with a summary;
  /// not_found if the database has no row of the thread.
  Result<MovedLeaf> branch(const SessionPtr& session, const std::string& target, const std::string& summary = "",
                           bool force = false, bool pin = false) override;
  [[nodiscard]] Result<void> check_branch(const SessionPtr& session, const std::string& target) override;
  /// Errors also: busy as for append_text(); invalid_argument if other threads begin with the history of this one.
  Result<void> remove(const SessionPtr& session, bool force = false) override;
  [[nodiscard]] Result<void> check_remove(const SessionPtr& session, bool force = false) override;
  Result<void> under_lock(const SessionPtr& session, const std::function<Result<void>()>& work, bool force) override;
  /// A paginated thread with a turn for each message of the user (H4).
  Result<AdoptResult> adopt(const Conversation& conversation, const std::string& agent) override;
  /// The same with the thread's own items, reasoning included, where models accept them without change.
  Result<AdoptResult> adopt_own(const SessionPtr& session, const ForeignFork& wanted,
                                const Conversation& conversation) override;

 private:
  Result<AppendResult> queue(const Session& session, const std::string& message, const std::string& at);
  /// Errors also: invalid_argument if the history of another segment begins in the active one's file.
  [[nodiscard]] Result<Relocation> describe_relocation(const SessionPtr& session, const FolderMove& move) override;
  /// Creates a thread with the records that `fill` adds behind the first line.
  using Fill = std::function<Result<void>(NewRecords& records)>;
  Result<CreateResult> make_thread(const Conversation& conversation, const std::string& agent, const Fill& fill);
  Result<std::vector<Effect>> go_back(const SessionPtr& session, const std::optional<EntryPlace>& entry);
  [[nodiscard]] Committer* committer() override { return &threads_; }
  Editor thread_editor_;
  Editor row_editor_;
  Committer threads_;
  Committer rows_;
};

/// For core/formats/registry.cc: what belongs to a thread, all of its segments; null if the store's sessions have no
/// such place. The store outlives it.
std::unique_ptr<Belongings> belongings_of(const arborfs::Store& store, const LogPlace& place);

}  // namespace arborfs::codex
