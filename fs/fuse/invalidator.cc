#include "fs/fuse/invalidator.h"

#include <cerrno>
#include <chrono>
#include <exception>
#include <set>

#include "core/base/exception_log.h"
#include "core/base/thread_slice.h"
#include "fs/fuse/fuse_request.h"

namespace arborfs {

namespace {

/// Between two batches, so that a busy writer costs little; the first change after a pause is sent at once.
constexpr std::chrono::milliseconds kPause{1};
constexpr std::chrono::milliseconds kMemoryPause{50};

}  // namespace

Invalidator::Invalidator(MountState& state, InvalidationQueue& news, fuse_session* session)
    : map_(state), news_(news), session_(session) {
  news_.open([session](NodeId node) { fuse_lowlevel_notify_inval_inode(session, node.value(), -1, 0); });
  thread_ = std::thread([this] { run(); });
}

Invalidator::~Invalidator() {
  stopping_ = true;
  news_.close();
  thread_.join();
}

void Invalidator::run() {
  request_short_thread_slice();
  InvalidationQueue::Work work;
  while (has_done([&] { return news_.wait(work); })) {
    has_done([&] {
      tell_all(work.more);
      tell_all(map_.forgets(work.changes));
      return true;
    });
    news_.note_told(work);
    news_.pause(kPause);
  }
}

/// Returns what `work` returns; retries it while memory is short, so that no invalidation is lost. False once stopping.
template <class Work>
bool Invalidator::has_done(const Work& work) {
  while (!stopping_) {
    try {
      return work();
    } catch (const std::exception&) {
      log_exception("cannot send invalidations to the kernel");
      std::this_thread::sleep_for(kMemoryPause);
    }
  }
  return false;
}

/// Names first: when the kernel invalidates a name that it has cached, it invalidates the attributes of its folder too.
void Invalidator::tell_all(const std::vector<Invalidation>& forgets) {
  std::set<NodeId> told;  // folders
  for (const auto& forget : forgets) {
    if (stopping_) {
      return;
    }
    if (!forget.name.empty() && !news_.put_off(forget) && tell_name(forget)) {
      told.insert(forget.node);
    }
  }
  for (const auto& forget : forgets) {
    if (forget.name.empty() && !told.contains(forget.node)) {
      news_.tell_at_once({forget});
    }
  }
}

/// False if the kernel has not cached the name, which is not an error; neither is a mount that has just gone.
bool Invalidator::tell_name(const Invalidation& forget) {
  const std::uint64_t node = forget.node.value();
  if (can_expire_ && !leads_elsewhere(forget)) {
    const int status =
        fuse_lowlevel_notify_expire_entry(session_, node, forget.name.c_str(), forget.name.size(), FUSE_LL_EXPIRE_ONLY);
    can_expire_ = status != -ENOSYS;
    if (can_expire_) {
      return status == 0;
    }
  }
  return fuse_lowlevel_notify_inval_entry(session_, node, forget.name.c_str(), forget.name.size()) == 0;
}

}  // namespace arborfs
