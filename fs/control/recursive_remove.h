// `rm -r` of a session. rm takes a folder apart from the inside, file by file, and a session can only go as a whole: so
// with -o allow_delete what is unlinked inside it is only said to be gone, until the rmdir of the session itself moves
// it to the trash; without, each is refused. In labels/ an unlink means something by itself, it clears a label; that is
// not to happen on the way, with that option or without. labels/ is listed last in a session, and a process that has
// tried to unlink anything else in it within kMemory is taking it apart.
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

  /// The thread `client` tried to unlink something in a session that is not a label.
  void note(pid_t client, std::uint32_t session);
  /// Its process is taking the session apart; as note() then.
  bool is_at_work(pid_t client, std::uint32_t session);
  /// The session went, or stayed after all: nobody is taking it apart any more.
  void forget(std::uint32_t session);

 private:
  static constexpr std::size_t kMost = 1024;
  using Clock = std::chrono::steady_clock;
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // session, identity of the process
  std::mutex mutex_;
  std::map<Key, Clock::time_point> last_;  // guarded by mutex_
};

}  // namespace arborfs
