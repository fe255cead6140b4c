// How sessions of Claude Code are changed: by rows at the end of the transcript, and never otherwise (claude/FORMAT.md
// I). The program takes no lock, so rows of it may come at any moment; other processes of arborfs are kept out by a
// flock(2) of the transcript.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/claude/new_rows.h"
#include "core/write/commit.h"

namespace arborfs::claude {

/// The name of the entry as the program knows it: nothing for a row without a uuid, which it does not read.
std::optional<std::string> uuid_of(const LogIndex& index, Ordinal ordinal);
/// The nearest entry that the program reads, from this one up; "" if there is none.
std::string known_uuid(const LogIndex& index, Ordinal ordinal);

/// The entry at which a conversation may go on: its uuid, "" for `root`. Errors: not_found; invalid_argument for an
/// entry that the program does not read, or no longer: rows without a uuid, of a sub-agent, from before a compaction.
Result<std::string> find_place(const LogIndex& index, std::string_view spelled);

struct LogPlan final : Plan {
  explicit LogPlan(std::string of) : session(std::move(of)) {}
  Result<void> start(const Session::Guard& now) override;
  /// `at`: the entry to append at, "" for the leaf. Errors: those of find_place; stale if the leaf is not as wanted.
  Result<AppendResult> add(const NewRows& rows, const std::string& at);
  /// Moves the leaf to an entry.
  Result<void> move(const std::string& target);
  /// "" clears the title.
  void set_title(std::string_view title);
  /// "" clears the tag.
  void set_tag(std::string_view tag);

  const std::string session;
  const LogIndex* index = nullptr;
  RowFrame frame;
  std::string leaf;        // uuid, "" for none
  std::optional<Pin> pin;  // follows the rows
};

class Editor final : public arborfs::Editor {
 public:
  [[nodiscard]] Result<void> check(const Session::Guard& now) const override;
  [[nodiscard]] Result<std::unique_ptr<LogWriter>> lock(const SessionPtr& session, Wait wait) override;
  [[nodiscard]] Result<std::unique_ptr<Plan>> begin(const SessionPtr& session) override;
  Result<void> complete(const SessionPtr& session, const Held& held, Plan& plan) override;
  [[nodiscard]] std::string instead(const Session& session) const override;
};

/// The transcript, locked against other processes of arborfs until the result is destroyed or released. Null rather
/// than wait. Errors: busy if one holds it for long; those of the disk.
Result<std::unique_ptr<LogWriter>> lock_transcript(const arborfs::Store& store, const LogPlace& place,
                                                   Editor::Wait wait);

}  // namespace arborfs::claude
