// Keeps what indexes and details take that nobody uses within a bound, over all sessions: those that were not used for
// longest are let go, and read anew when they are needed (Session::let_go). Never let go is what is in use or was used
// a moment ago; it does not count. Thread-safe; mutex_ comes before the locks of sessions but is not held while they
// let go.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace arborfs {

class Session;

class LoadedIndexes {
 public:
  /// A caller that does not hold Session::Use may use a session for this long after its refresh.
  static constexpr std::chrono::nanoseconds kJustUsed = std::chrono::seconds(1);
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20U;
  /// Sessions that tidy() lets go, at most: some 5 ms, since its caller has other things to do.
  static constexpr std::size_t kAtATime = 128;

  /// The bound may be exceeded by an eighth, or for a second, before anything is done about it; by what was all used at
  /// once until tidy().
  explicit LoadedIndexes(std::size_t most_bytes) : most_bytes_(most_bytes), look_beyond_(most_bytes) {}
  /// What a session has loaded is not what it was. May let go of what others have; the caller holds no lock of any.
  void note(const std::shared_ptr<Session>& session);
  /// To be called now and then: lets go of what was in use, or used just now, when its turn came, and gives back what
  /// the heap has between what is left. Nothing is done where nothing was loaded or let go since the last time and the
  /// bound is kept.
  /// `may_wait` says whether a session's log may keep whoever asks about it waiting; such are left to note().
  using MayWait = std::function<bool(const Session&)>;
  void tidy(const MayWait& may_wait);

 private:
  struct Loaded {
    std::weak_ptr<Session> session;
    std::size_t bytes = 0;
  };
  bool take_in(const std::shared_ptr<Session>& session);
  bool let_go_superfluous(std::size_t most, const MayWait& may_wait);
  std::vector<std::shared_ptr<Session>> superfluous();
  const std::size_t most_bytes_;
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, Loaded> loaded_;  // by session number; guarded by mutex_
  std::size_t bytes_ = 0;                             // of all; guarded by mutex_
  std::chrono::steady_clock::time_point look_at_;     // again; guarded by mutex_
  std::size_t look_beyond_;                           // so many bytes; guarded by mutex_
  bool has_changed_ = false;                          // since the last tidy(); guarded by mutex_
};

}  // namespace arborfs
