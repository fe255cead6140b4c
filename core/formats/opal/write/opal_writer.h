// Writes to Opal's sessions of JSON lines: appends, moves of the leaf, replaced messages, titles (opal/FORMAT.md B, C),
// and new sessions and forks. Each change writes a new file, with every other line unchanged, that replaces the log.
// Changes that arrive for one session at the same time share one such file. Threads: any.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/opal/write/segment.h"
#include "core/os/temp_file.h"
#include "core/writer/shared_turns.h"
#include "core/writer/transfer.h"
#include "core/writer/writer.h"

namespace arborfs {

class OpalWriter final : public Writer {
 public:
  /// For so long a change is made again if other programs keep changing the log.
  static constexpr std::chrono::milliseconds kPatience{5000};
  /// `catalog` must outlive this object.
  OpalWriter(Catalog& catalog, WriteSettings settings, std::chrono::milliseconds patience = kPatience)
      : Writer(catalog, std::move(settings)), patience_(patience) {}

  /// Removes the temporary files of writers that were killed.
  void take_back_parts() override;
  [[nodiscard]] Result<void> check(const SessionPtr& session, bool force = false) override;
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
  [[nodiscard]] Result<void> check_remove(const SessionPtr& session, bool force = false) override;

 private:
  /// The changes of a new file relative to the log.
  struct Draft {
    const LogIndex* index = nullptr;  // of the log
    std::string header;
    std::string leaf;  // id, "" for none
    bool is_moved = false;
    std::string lines;
    std::vector<opal::LineEdit> edits;  // of other lines than the header, in the order of the log
    std::vector<std::string> removed;   // ids
    std::string new_parent;             // of relinked lines, "" for none
    bool puts_back = false;             // the lines were erased before
  };
  /// Changes the draft; leaves it unchanged if it fails. Does no I/O. Called again, with another draft, if another
  /// program wrote meanwhile.
  using Change = std::function<Result<void>(Draft&)>;
  struct Waiting {
    Change change;
    bool force = false;
    bool is_alone = false;  // the change needs the index of the log as it is written
    bool is_done = false;
    Result<void> result;
  };
  enum class Shares : std::uint8_t { file, nothing };
  Result<void> apply(const SessionPtr& session, Change change, bool force, Shares shares = Shares::file);
  void run(const SessionPtr& session, const std::vector<Waiting*>& batch);
  void note_own_write(const Session& session, const FileStat& before);
  Result<void> rewrite_in_turn(const SessionPtr& session, const std::vector<Waiting*>& batch);
  Result<void> rewrite(const SessionPtr& session, const std::vector<Waiting*>& batch);
  static Result<void> write_rest(TempFile& file, const LogSource& log, std::uint64_t at, std::uint64_t end,
                                 const Draft& draft);
  Result<void> replace_log(const SessionPtr& session, const LogSource& log, const FileStat& stat,
                           std::uint64_t header_end, const Draft& draft);
  Result<void> sync_name(const SessionPtr& session) const;
  /// Creates the session that `fill` writes, with those of the permissions of a new file that are in `permissions`.
  Result<CreateResult> add_session(std::uint8_t store, const std::string& id, mode_t permissions,
                                   const std::function<Result<void>(TempFile&)>& fill);

  const std::chrono::milliseconds patience_;
  SharedTurns<Waiting> changes_;  // those of one batch are made by one new file
};

/// The file of the session, and the folder with other files of it (opal/FORMAT.md A1, core/writer/transfer.h); null if
/// the store's sessions have no such place. `store` outlives it.
std::unique_ptr<Belongings> belongings_of_opal(const SessionStore& store, const LogPlace& place);

namespace opal {

/// The log as it was read, held until the file is closed: another arborfs process that replaces or removes it at the
/// same moment finds it held, or finds another log. Opal itself takes no lock. Errors: stale if the log is held, or has
/// changed since it was read.
Result<File> hold_log(const Dir& folder, const std::string& name, const FileStat& as_read);

}  // namespace opal

}  // namespace arborfs
