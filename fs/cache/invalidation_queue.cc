#include "fs/cache/invalidation_queue.h"

#include <algorithm>
#include <utility>

namespace arborfs {

namespace {

constexpr std::size_t kBatch = 1024;
thread_local int told_here = 0;

}  // namespace

class InvalidationQueue::Hold {
 public:
  Hold(InvalidationQueue& news, std::size_t most) : news_(news) { folders_.reserve(most); }
  ~Hold() { news_.release(folders_); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  void add(NodeId folder) {
    const std::lock_guard lock(news_.mutex_);
    ++news_.held_[folder];
    folders_.push_back(folder);
  }

 private:
  InvalidationQueue& news_;
  std::vector<NodeId> folders_;
};

InvalidationQueue::ToldHere::ToldHere() {
  ++told_here;
}

InvalidationQueue::ToldHere::~ToldHere() {
  --told_here;
}

InvalidationQueue::InvalidationQueue(ChangeFeed& feed) : feed_(feed) {
  feed_.on_publish([this] {
    if (told_here > 0) {
      return;
    }
    // The lock makes sure that a wait that has just checked its condition is not missed.
    { const std::lock_guard lock(mutex_); }
    work_.notify_one();
  });
}

std::shared_ptr<void> InvalidationQueue::hold(const std::vector<NodeId>& folders) {
  auto held = std::make_shared<Hold>(*this, folders.size());
  for (const NodeId folder : folders) {
    held->add(folder);
  }
  return held;
}

void InvalidationQueue::release(const std::vector<NodeId>& folders) {
  const std::lock_guard lock(mutex_);
  for (const NodeId folder : folders) {
    if (--held_[folder] > 0) {
      continue;
    }
    held_.erase(folder);
    if (auto node = put_off_.extract(folder)) {
      more_.insert(more_.end(), node.mapped().begin(), node.mapped().end());
    }
  }
  work_.notify_one();
}

void InvalidationQueue::tell_and_wait(std::vector<Invalidation> more) {
  const std::uint64_t sequence = feed_.last_sequence();
  std::unique_lock lock(mutex_);
  if (!is_open_) {
    return;
  }
  more_.insert(more_.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  const std::uint64_t ticket = ++ticket_;
  ++waiting_;
  work_.notify_one();
  hurry_.notify_one();
  told_.wait_for(lock, kPatience, [&] { return !is_open_ || (told_sequence_ >= sequence && told_ticket_ >= ticket); });
  --waiting_;
}

bool InvalidationQueue::tell_at_once(const std::vector<Invalidation>& nodes) {
  if (std::any_of(nodes.begin(), nodes.end(), [](const Invalidation& forget) { return !forget.name.empty(); })) {
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!is_open_) {
      return true;
    }
  }
  for (const Invalidation& forget : nodes) {
    tell_node_(forget.node);
  }
  return true;
}

void InvalidationQueue::note_told(std::uint64_t since, std::uint64_t last) {
  const std::lock_guard lock(mutex_);
  if (since > told_here_last_) {
    told_here_since_ = since;
    told_here_last_ = last;
  } else if (last >= told_here_since_) {
    told_here_since_ = std::min(told_here_since_, since);
    told_here_last_ = std::max(told_here_last_, last);
  }
}

bool InvalidationQueue::has_told(std::uint64_t since, std::uint64_t last) const {
  const std::lock_guard lock(mutex_);
  return last <= told_sequence_ || (since >= told_here_since_ && last <= told_here_last_);
}

void InvalidationQueue::open(TellNode tell_node) {
  const std::lock_guard lock(mutex_);
  tell_node_ = std::move(tell_node);
  is_open_ = true;
  told_sequence_ = feed_.last_sequence();
}

void InvalidationQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
  }
  work_.notify_all();
  hurry_.notify_all();
  told_.notify_all();
}

bool InvalidationQueue::wait(Work& work) {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [&] {
    return !is_open_ || !more_.empty() || ticket_ > told_ticket_ || feed_.last_sequence() > told_sequence_;
  });
  work.changes = feed_.after(told_sequence_, kBatch);
  work.more = std::exchange(more_, {});
  work.ticket = ticket_;
  work.sequence = work.changes.empty() ? told_sequence_ : work.changes.back().sequence;
  return is_open_;
}

bool InvalidationQueue::put_off(const Invalidation& forget) {
  const std::lock_guard lock(mutex_);
  if (!held_.contains(forget.node)) {
    return false;
  }
  auto& names = put_off_[forget.node];
  const auto same = [&](const Invalidation& other) { return other.name == forget.name; };
  if (std::none_of(names.begin(), names.end(), same)) {
    names.push_back(forget);
  }
  return true;
}

void InvalidationQueue::note_told(const Work& work) {
  {
    const std::lock_guard lock(mutex_);
    told_sequence_ = work.sequence;
    told_ticket_ = work.ticket;
  }
  told_.notify_all();
}

void InvalidationQueue::pause(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  hurry_.wait_for(lock, longest, [&] { return !is_open_ || waiting_ > 0; });
}

}  // namespace arborfs
