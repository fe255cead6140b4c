// How messages, and records of the transcript, are appended to goat's sessions (goat/FORMAT.md C): under goat's lock of
// the file, as lines at its end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/formats/goat/new_records.h"
#include "core/session/session.h"
#include "core/write/commit.h"

namespace arborfs::goat {

struct LogPlan final : Plan {
  Result<void> start(const Session::Guard& now) override;
  /// `at` may only name the last message, and is "" for a transcript. `added` lives as long as the plan. Errors: stale
  /// if the last message is another one than `added` or `at` wants.
  Result<AppendResult> add(const NewRecords& added, const std::string& at);

  const LogIndex* index = nullptr;
  std::string leaf;  // the last message's id, "" for none
  std::vector<const NewRecords::Record*> records;
};

class Editor final : public arborfs::Editor {
 public:
  /// `file` is kMessagesFile or kTranscriptFile. `committed` is called after each change.
  Editor(std::string file, std::function<void(const SessionPtr&)> committed)
      : file_(std::move(file)), committed_(std::move(committed)) {}

  [[nodiscard]] Result<void> check(const Session::Guard& now) const override;
  [[nodiscard]] Result<std::unique_ptr<LogWriter>> lock(const SessionPtr& session, Wait wait) override;
  [[nodiscard]] Result<std::unique_ptr<Plan>> begin(const SessionPtr& session) override;
  Result<void> complete(const SessionPtr& session, const Held& held, Plan& plan) override;
  void committed(const SessionPtr& session, const Plan& /*plan*/) override { committed_(session); }
  [[nodiscard]] std::string appended_file(const LogPlace& session) const override;
  [[nodiscard]] std::optional<LogPlace> place_of(const LogPlace& appended) const override;

 private:
  [[nodiscard]] bool is_transcript() const;
  const std::string file_;
  const std::function<void(const SessionPtr&)> committed_;
};

/// Updates of sessions' metadata that follow appends a moment later, so that a burst of appends costs one. Thread-safe;
/// one thread of its own, from the first update on.
class DelayedUpdates {
 public:
  using Update = std::function<void(const SessionPtr& session)>;
  /// `update` must not throw; it runs when no append has followed for `quiet`.
  DelayedUpdates(Update update, std::chrono::milliseconds quiet) : update_(std::move(update)), quiet_(quiet) {}
  /// Runs the updates that are due.
  ~DelayedUpdates();
  DelayedUpdates(const DelayedUpdates&) = delete;
  DelayedUpdates& operator=(const DelayedUpdates&) = delete;

  void add(const SessionPtr& session);
  /// Runs all updates that were added before, on this thread, except of a session that is added again meanwhile.
  void settle();

 private:
  using Clock = std::chrono::steady_clock;
  using Pending = std::map<std::uint32_t, std::pair<SessionPtr, Clock::time_point>>;  // by the session's number
  void work();
  /// False if none is due by then.
  bool update_one(Clock::time_point due);

  const Update update_;
  const std::chrono::milliseconds quiet_;
  std::mutex making_;  // one update at a time; locked before mutex_, held over I/O
  std::mutex mutex_;   // leaf; guards everything below
  std::condition_variable wake_;
  Pending pending_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace arborfs::goat
