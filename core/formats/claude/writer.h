// Writes to sessions of Claude Code: appends, moves of the leaf, titles, removals (claude/FORMAT.md I), and new
// sessions from those of other agents (G). Commands that arrive for one session at the same time share one write and
// one sync. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/formats/claude/editor.h"
#include "core/write/writer.h"

namespace arborfs::claude {

class Writer final : public arborfs::Writer {
 public:
  /// An attempt is repeated so often if the program appends rows meanwhile.
  static constexpr int kTries = 10;
  /// `catalog` must outlive this object.
  Writer(Catalog& catalog, WriteSettings settings)
      : arborfs::Writer(catalog, std::move(settings)),
        changes_(catalog, {.sync = syncs(), .write_live = this->settings().write_live, .tries = kTries}, editor_) {}

  void take_back_parts() override;
  [[nodiscard]] Result<void> check(const SessionPtr& session, bool force = false) override {
    return changes_.check(session, live_policy(force));
  }
  /// Errors also: invalid_argument for a text behind a call of a tool that has no result yet (F27; `force` overrides).
  Result<AppendResult> append_text(const SessionPtr& session, AppendText text) override;
  [[nodiscard]] Result<void> check_json(const SessionPtr& session, std::string_view text) override;
  /// Claude Code continues there at once, so `pin` adds nothing. Errors also: invalid_argument for a summary, and for
  /// an entry within a reply, whose parts the program sends together.
  Result<MovedLeaf> branch(const SessionPtr& session, const std::string& target, const std::string& summary = "",
                           bool force = false, bool pin = false) override;
  [[nodiscard]] Result<void> check_branch(const SessionPtr& session, const std::string& target) override;
  /// A title of which nothing is left clears the present one, with the file that holds it beside the transcript.
  Result<std::string> set_title(const SessionPtr& session, std::string_view title, bool force = false,
                                std::string_view source = "user") override;
  /// The transcript holds one of the tags, which the program shows (claude/FORMAT.md I8).
  Result<Notes::Tags> change_tags(const SessionPtr& session, const Notes::TagChange& change) override;
  /// Sessions can be archived; a running program leaves that alone, so the session may be live.
  Result<void> set_mark(const SessionPtr& session, Mark mark, bool is_set, bool force = false) override;
  /// With its sub-agents, and with what other folders of the program have of it.
  Result<void> remove(const SessionPtr& session, bool force = false) override;
  Result<AdoptResult> adopt(const Conversation& conversation, const std::string& agent) override;
  /// Copies rows, with the sub-agents and the long outputs of tools that they name.
  Result<AdoptResult> adopt_own(const SessionPtr& session, const ForeignFork& wanted,
                                const Conversation& conversation) override;

 private:
  [[nodiscard]] Result<Relocation> describe_relocation(const SessionPtr& session, const FolderMove& move) override;
  /// Creates the transcript of a new session, and takes along what its rows name of `beside`, the folder beside the
  /// transcript `source`; null for none.
  Result<CreateResult> write_transcript(const std::string& agent, const std::string& cwd, const std::string& id,
                                        std::string rows, const Dir* beside = nullptr, const LogPlace& source = {});

  [[nodiscard]] Committer* committer() override { return &changes_; }
  Editor editor_;
  Committer changes_;
};

}  // namespace arborfs::claude
