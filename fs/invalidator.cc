#include "fs/invalidator.h"

#include <cerrno>
#include <chrono>

#include "fs/fuse_request.h"

namespace arborfs {

namespace {

constexpr std::size_t kBatch = 1024;
/// Between two batches, so that a busy writer costs little; the first change after a pause is told at once.
constexpr std::chrono::milliseconds kPause{5};

}  // namespace

Invalidator::Invalidator(MountState& state, ChangeFeed& feed, fuse_session* session)
    : map_(state), feed_(feed), session_(session), thread_([this, seen = feed.last_sequence()] { run(seen); }) {}

Invalidator::~Invalidator() {
  stopping_ = true;
  feed_.close();
  thread_.join();
}

void Invalidator::run(std::uint64_t seen) {
  while (feed_.wait(seen)) {
    const auto changes = feed_.after(seen, kBatch);
    if (changes.empty()) {
      continue;
    }
    seen = changes.back().sequence;
    for (const auto& forget : map_.forgets(changes)) {
      if (stopping_) {
        return;
      }
      tell(forget);
    }
    std::this_thread::sleep_for(kPause);
  }
}

/// Nodes and names that the kernel does not know are no error, and neither is a mount that has just gone.
void Invalidator::tell(const Forget& forget) {
  const std::uint64_t node = forget.node.value();
  if (forget.name.empty()) {
    fuse_lowlevel_notify_inval_inode(session_, node, -1, 0);
    return;
  }
  if (can_expire_) {
    const int status =
        fuse_lowlevel_notify_expire_entry(session_, node, forget.name.c_str(), forget.name.size(), FUSE_LL_EXPIRE_ONLY);
    can_expire_ = status != -ENOSYS;
  }
  if (!can_expire_) {
    fuse_lowlevel_notify_inval_entry(session_, node, forget.name.c_str(), forget.name.size());
  }
}

}  // namespace arborfs
