// Around every change that this mount makes: how it ended is kept, and its caller is not answered before every look
// that starts then shows it (CONTRACT.md 3.1). Any thread; no lock is held while it works or waits.
#pragma once

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

  /// Runs `work`, which changes `session` (null: none that is there already) by a call of the Writer and gives a
  /// Result. `doing` is the verb.
  template <class Work>
  auto run(const SessionPtr& session, std::string_view doing, Work work) {
    return run_unnoted(session, [&](Writer& writer) {
      auto done = work(writer);
      writer.note_outcome(session, doing, done ? nullptr : &done.error());
      return done;
    });
  }
  /// The same for what is part of a command whose end is kept elsewhere.
  template <class Work>
  auto run_unnoted(const SessionPtr& session, Work work) {
    const InvalidationQueue::ToldHere told_here;
    const Shown before = shown(session);
    auto done = work(writer_);
    settle(session, before, done.has_value());
    return done;
  }
  /// A command was refused before it reached the Writer.
  void refused(const SessionPtr& session, std::string_view doing, const Error& why);

  [[nodiscard]] MountState& state() const { return state_; }
  [[nodiscard]] Writer& writer() const { return writer_; }
  [[nodiscard]] InvalidationQueue& news() const { return news_; }

 private:
  /// Where a session is shown, which the change feed says nothing of, and how far the feed has come.
  struct Shown {
    std::string path;     // projects/<project>/<session>
    std::string id_name;  // in by-id/
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
