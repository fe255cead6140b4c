// Wraps every change that this mount makes: records its outcome, and lets the caller be answered only when every later
// read shows the change (CONTRACT.md 3.1). Any thread; no lock is held while it works or waits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/writer/writer.h"
#include "fs/cache/invalidation_queue.h"
#include "fs/tree/mount_state.h"

namespace arborfs {

class WriteBarrier {
 public:
  /// All outlive it.
  WriteBarrier(MountState& state, Writer& writer, InvalidationQueue& news)
      : state_(state), writer_(writer), news_(news) {}

  /// Runs `work`, which changes `session` (null: no existing one) by one call of the Writer and returns a Result.
  /// `doing` is the verb.
  template <class Work>
  auto run(const SessionPtr& session, std::string_view doing, Work work) {
    return run_unnoted(session, [&](Writer& writer) {
      auto done = work(writer);
      writer.note_outcome(session, doing, done ? nullptr : &done.error());
      return done;
    });
  }
  /// The same for a part of a command whose outcome is recorded elsewhere.
  template <class Work>
  auto run_unnoted(const SessionPtr& session, Work work) {
    const InvalidationQueue::ToldHere told_here;
    const Shown before = shown(session);
    auto done = work(writer_);
    settle(session, before, done.has_value());
    return done;
  }
  /// Records a command that was refused before it reached the Writer.
  void refused(const SessionPtr& session, std::string_view doing, const Error& why);

  [[nodiscard]] MountState& state() const { return state_; }
  [[nodiscard]] Writer& writer() const { return writer_; }
  [[nodiscard]] InvalidationQueue& news() const { return news_; }

 private:
  /// Where a session is shown, which the change feed does not report, and the feed's last sequence number.
  struct Shown {
    std::string path;           // CatalogView::path_of
    std::uint32_t starter = 0;  // ShownAt::starter
    std::string id_name;        // in by-id/
    std::uint64_t sequence = 0;
  };
  [[nodiscard]] Shown shown(const SessionPtr& session) const;
  void settle(const SessionPtr& session, const Shown& before, bool is_done);
  void tell(std::uint64_t since, std::vector<Invalidation> more);
  void add_place(const Shown& was, const Shown& is, std::vector<Invalidation>& out) const;

  MountState& state_;
  Writer& writer_;
  InvalidationQueue& news_;
};

}  // namespace arborfs
