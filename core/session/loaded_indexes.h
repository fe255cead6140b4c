// Bounds the memory of unused indexes and details over all sessions: those unused for longest are evicted, and read
// again when they are needed (Session::evict). Data that is in use or was used a moment ago is never evicted and does
// not count. Thread-safe; mutex_ comes before the locks of sessions but is not held during evict().
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
  /// Sessions that one tidy() evicts at most: about 5 ms, since its caller has other work.
  static constexpr std::size_t kAtATime = 128;

  /// The bound may be exceeded by an eighth, or for a second, before anything is evicted; if everything was used at
  /// once, until tidy().
  explicit LoadedIndexes(std::size_t most_bytes) : most_bytes_(most_bytes), look_beyond_(most_bytes) {}
  /// The session's loaded size has changed. May evict other sessions' data; the caller holds no session's lock.
  void note(const std::shared_ptr<Session>& session);
  /// Call it from time to time: evicts data that note() kept because it was in use or just used, and returns the free
  /// parts of the heap to the kernel. Does nothing if nothing was loaded or evicted since the last call and the bound
  /// is kept. `may_wait` returns whether access to a session's log may block; such sessions are left to note().
  using MayWait = std::function<bool(const Session&)>;
  void tidy(const MayWait& may_wait);

 private:
  struct Loaded {
    std::weak_ptr<Session> session;
    std::size_t bytes = 0;
  };
  bool take_in(const std::shared_ptr<Session>& session);
  bool evict_superfluous(std::size_t most, const MayWait& may_wait);
  std::vector<std::shared_ptr<Session>> superfluous();
  const std::size_t most_bytes_;
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, Loaded> loaded_;  // by session number; guarded by mutex_
  std::size_t bytes_ = 0;                             // of all; guarded by mutex_
  std::chrono::steady_clock::time_point look_at_;     // time of the next search for data to evict; guarded by mutex_
  std::size_t look_beyond_;                           // searches earlier if bytes_ exceed this; guarded by mutex_
  bool has_changed_ = false;                          // since the last tidy(); guarded by mutex_
};

}  // namespace arborfs
