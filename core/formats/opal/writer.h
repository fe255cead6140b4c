// Writes to Opal's sessions of JSON lines: appends, moves of the leaf, replaced messages, titles (opal/FORMAT.md B, C),
// and new sessions and forks. Each change writes a new file, with every other line unchanged, that replaces the log.
// Changes that arrive for one session at the same time share one such file. Threads: any.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/opal/editor.h"
#include "core/os/temp_file.h"
#include "core/write/transfer.h"
#include "core/write/writer.h"

namespace arborfs::opal {

class Writer final : public arborfs::Writer {
 public:
  /// For so long a change is made again if other programs keep changing the log.
  static constexpr std::chrono::milliseconds kPatience{5000};
  /// `catalog` must outlive this object.
  Writer(Catalog& catalog, WriteSettings settings, std::chrono::milliseconds patience = kPatience)
      : arborfs::Writer(catalog, std::move(settings)),
        editor_(catalog, syncs()),
        changes_(catalog, {syncs(), this->settings().write_live, patience}, editor_) {}

  /// Removes the temporary files of writers that were killed.
  void take_back_parts() override;
  [[nodiscard]] Result<void> check(const SessionPtr& session, bool force = false) override {
    return changes_.check(session, live_policy(force));
  }
  /// Each change writes the whole log beside the present one.
  [[nodiscard]] RoomWanted room_for(const SessionPtr& session, std::string_view verb, std::uint64_t bytes) override;
  Result<AppendResult> append_text(const SessionPtr& session, AppendText text) override;
  [[nodiscard]] Result<void> check_json(const SessionPtr& session, std::string_view text) override;
  /// Changes the log at once, so agents continue there too, and `pin` adds nothing.
  Result<MovedLeaf> branch(const SessionPtr& session, const std::string& target, const std::string& summary = "",
                           bool force = false, bool pin = false) override;
  [[nodiscard]] Result<void> check_branch(const SessionPtr& session, const std::string& target) override;
  Result<std::string> set_title(const SessionPtr& session, std::string_view title, bool force = false,
                                std::string_view source = "user") override;
  /// Errors also: invalid_argument for a run that is not on the path to the leaf, or that would separate a tool call
  /// from its result (F27; `force` overrides).
  Result<AppendResult> replace(const SessionPtr& session, const Replacement& wanted, bool force = false) override;
  /// The leaf stays.
  Result<std::size_t> put_back_erased(const SessionPtr& session, bool force = false) override;
  Result<CreateResult> fork(const SessionPtr& session, const std::string& target = "", bool force = false,
                            const std::optional<std::string>& title = std::nullopt) override;
  /// Opal keeps no working directory, so that of `wanted` is not used. Errors also: invalid_argument for a session that
  /// the new one would continue.
  Result<CreateResult> create(const NewSession& wanted) override;
  [[nodiscard]] bool creates() const override { return true; }
  Result<AdoptResult> adopt(const Conversation& conversation, const std::string& agent) override;
  Result<void> remove(const SessionPtr& session, bool force = false) override;

 private:
  using Change = std::function<Result<void>(LogPlan&)>;
  enum class Shares : std::uint8_t { file, nothing };
  /// `nothing`: the change needs the index of the log as it is written. `bytes` as in Command.
  Result<void> apply(const SessionPtr& session, std::string_view verb, Change change, bool force,
                     Shares shares = Shares::file, std::uint64_t bytes = 0);
  /// Creates the session that `fill` writes, with those of the permissions of a new file that are in `permissions`.
  Result<CreateResult> add_session(std::uint8_t store, const std::string& id, mode_t permissions,
                                   const std::function<Result<void>(TempFile&)>& fill);

  [[nodiscard]] Committer* committer() override { return &changes_; }
  Editor editor_;
  Committer changes_;
};

/// The file of the session, and the folder with other files of it (opal/FORMAT.md A1, core/write/transfer.h); null if
/// the store's sessions have no such place. `store` outlives it.
std::unique_ptr<Belongings> belongings_of(const arborfs::Store& store, const LogPlace& place);

}  // namespace arborfs::opal
