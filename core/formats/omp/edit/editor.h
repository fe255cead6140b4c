// How sessions of omp and pi are changed (omp/FORMAT.md F, G): lines under the agents' lock, a title slot in place, and
// a rewrite of the log where an append is not enough. pi and omp 13 take no lock, so that lines may come at any moment.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/omp/edit/entry_draft.h"
#include "core/formats/omp/edit/log_rewrite.h"
#include "core/write/commit.h"

namespace arborfs::omp {

/// A command that replaces a log.
struct Rewrite {
  /// Writes the new log from the session's state. Called again if another program wrote meanwhile.
  std::function<Result<CopiedLog>(TempFile&)> write;
  Wanted::Still is_wanted = Wanted::here();
};

struct LogPlan final : Plan {
  Result<void> start(const Session::Guard& now) override;

  std::optional<AppendBatch> batch;  // from start()
  std::string slot;                  // the title slot's line, to be written with the lines
  std::optional<Rewrite> anew;       // instead of lines; of a command that is alone
  // The log that it is planned for:
  std::shared_ptr<const LogSource> log;
  std::vector<Damage> damage;
  std::uint64_t size = 0;
  bool is_migrated = false;  // of an old version
  bool moves_leaf = false;   // the leaf was moved without an entry
};

class Editor final : public arborfs::Editor {
 public:
  using Hold = std::function<Result<Held>(const SessionPtr&, LivePolicy)>;
  /// `catalog` outlives it. `hold` takes the right to change a session again.
  Editor(Catalog& catalog, bool syncs, Hold hold) : catalog_(catalog), syncs_(syncs), hold_(std::move(hold)) {}

  [[nodiscard]] Result<void> check(const Session::Guard& now) const override;
  [[nodiscard]] Result<void> probe(const SessionPtr& session) override;
  [[nodiscard]] Result<std::unique_ptr<LogWriter>> lock(const SessionPtr& session, Wait wait) override;
  [[nodiscard]] Result<std::unique_ptr<Plan>> begin(const SessionPtr& session) override;
  Result<void> complete(const SessionPtr& session, const Held& held, Plan& plan) override;
  void committed(const SessionPtr& session, const Plan& plan) override;
  [[nodiscard]] std::string instead(const Session& session) const override;

  /// Moves the log, with what belongs to it, and replaces it there. Errors also: stale.
  Result<void> move(const SessionPtr& session, Held& held, const Rewrite& anew, const LogPlace& to);

 private:
  struct Copy;
  Result<Copy> copy(const SessionPtr& session, Held& held, const Rewrite& anew, const LogPlace& to);
  Result<void> rewrite(const SessionPtr& session, Held& held, LogPlan& plan);
  Result<void> move_locked(const SessionPtr& session, Held& held, const LogVersion& before, Copy& copy,
                           const LogPlace& to);
  Catalog& catalog_;
  const bool syncs_;
  const Hold hold_;
};

}  // namespace arborfs::omp
