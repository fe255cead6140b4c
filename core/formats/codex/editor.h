// How threads of Codex are changed (codex/FORMAT.md H): records that are appended to the active segment under the lock
// of the thread, or another change that the plan's rewrite makes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/formats/codex/new_records.h"
#include "core/formats/codex/store.h"
#include "core/write/commit.h"

namespace arborfs::codex {

struct LogPlan final : Plan {
  /// `end`: of the active segment, nothing without the lock.
  LogPlan(std::string id, const std::optional<SegmentEnd>& end) : thread(std::move(id)) {
    if (end) {
      records.emplace(thread, *end);
    }
  }
  Result<void> start(const Session::Guard& now) override;
  /// `at` may only name the leaf. Errors: stale if the leaf is another entry than `at` or the turns want.
  Result<AppendResult> add(const NewTurns& added, const std::string& at);

  const std::string thread;
  std::optional<NewRecords> records;  // nothing in a plan without the lock
  const LogIndex* index = nullptr;
  Ordinal leaf_entry = kNoEntry;
  std::string leaf;  // its id, "" for none
};

/// read_only: for a thread whose file does not begin as Codex needs it.
Error no_thread_of_codex();

class Editor final : public arborfs::Editor {
 public:
  enum class Guard : std::uint8_t {
    lock,  // of the thread, which no program may have loaded
    none,  // for what may be changed beside a program that has it loaded (H1)
  };
  explicit Editor(Guard guard) : guard_(guard) {}

  /// Errors also: read_only for a thread that Codex does not open, or whose active segment it has compressed.
  [[nodiscard]] Result<void> check(const Session::Guard& now) const override;
  [[nodiscard]] Result<void> probe(const SessionPtr& session) override;
  [[nodiscard]] Result<std::unique_ptr<LogWriter>> lock(const SessionPtr& session, Wait wait) override;
  [[nodiscard]] Result<std::unique_ptr<Plan>> begin(const SessionPtr& session) override;
  Result<void> complete(const SessionPtr& session, const Held& held, Plan& plan) override;

 private:
  const Guard guard_;
};

/// The store of a session of Codex.
const ThreadStore& threads_of(const Session& session);

}  // namespace arborfs::codex
