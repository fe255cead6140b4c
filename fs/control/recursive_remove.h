// `rm -r` of a session. rm removes a folder from the inside, file by file, but a session can only be removed as a
// whole: so with -o allow_delete an unlink inside a session succeeds without effect, and the rmdir of the session
// itself moves it to the trash; without the option both are refused. In labels/ an unlink has an effect of its own, it
// clears a label; that must not happen during `rm -r`, with or without the option. labels/ is listed last in a session,
// and a process that has tried to unlink anything else in the session within kMemory is removing it. The same holds for
// the sessions in its children/, if they are removed with it: then their rmdir has no effect of its own either.
//
// Thread-safe; mutex_ is a leaf.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace arborfs {

class RecursiveRemoves {
 public:
  static constexpr std::chrono::minutes kMemory{1};

  /// The thread `client` tried to unlink something in a session other than a label.
  void note(pid_t client, std::uint32_t session);
  /// True if the process of `client` is removing the session; then restarts kMemory.
  bool is_at_work(pid_t client, std::uint32_t session);
  /// The session was removed, or the removal was refused: no process is removing it any more.
  void forget(std::uint32_t session);

 private:
  static constexpr std::size_t kMost = 1024;
  using Clock = std::chrono::steady_clock;
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // session, identity of the process
  std::mutex mutex_;
  std::map<Key, Clock::time_point> last_;  // guarded by mutex_
};

}  // namespace arborfs
