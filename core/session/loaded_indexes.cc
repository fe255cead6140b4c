#include "core/session/loaded_indexes.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/session/session.h"

namespace arborfs {

namespace {

/// Memory that is freed between used blocks would stay with the heap.
void give_back_gaps() {
  ::malloc_trim(0);
}

}  // namespace

void LoadedIndexes::note(const std::shared_ptr<Session>& session) {
  if (take_in(session) && evict_superfluous(SIZE_MAX, nullptr)) {
    give_back_gaps();
  }
}

void LoadedIndexes::tidy(const MayWait& may_wait) {
  bool has_changed = false;
  {
    const std::lock_guard lock(mutex_);
    has_changed = std::exchange(has_changed_, false);
    if (!has_changed && bytes_ <= most_bytes_) {
      return;
    }
  }
  if (evict_superfluous(kAtATime, may_wait) || has_changed) {
    give_back_gaps();
  }
}

/// True if it evicted any.
bool LoadedIndexes::evict_superfluous(std::size_t most, const MayWait& may_wait) {
  bool is_less = false;
  auto unused = superfluous();
  std::erase_if(unused, [&](const auto& session) { return may_wait && may_wait(*session); });
  unused.resize(std::min(unused.size(), most));
  for (const auto& session : unused) {
    if (session->evict()) {
      take_in(session);
      is_less = true;
    }
  }
  const std::lock_guard lock(mutex_);
  look_beyond_ = std::max(bytes_, most_bytes_) + most_bytes_ / 8;
  look_at_ = std::chrono::steady_clock::now() + kJustUsed;
  return is_less;
}

/// Records the session's loaded size. True if it is time to look for data to evict.
bool LoadedIndexes::take_in(const std::shared_ptr<Session>& session) {
  const std::lock_guard lock(mutex_);
  const std::size_t bytes = session->memory_bytes();
  has_changed_ = true;
  Loaded& loaded = loaded_[session->number()];
  bytes_ += bytes - loaded.bytes;
  loaded = {session, bytes};
  if (bytes == 0) {
    loaded_.erase(session->number());
  }
  return bytes_ > most_bytes_ && (bytes_ > look_beyond_ || std::chrono::steady_clock::now() > look_at_);
}

/// The unused sessions that exceed the bound, those unused for longest.
std::vector<std::shared_ptr<Session>> LoadedIndexes::superfluous() {
  struct Unused {
    std::chrono::steady_clock::time_point last_used;
    std::size_t bytes;
    std::shared_ptr<Session> session;
  };
  const auto before = std::chrono::steady_clock::now() - kJustUsed;
  std::vector<Unused> unused;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = loaded_.begin(); at != loaded_.end();) {
      auto session = at->second.session.lock();
      if (!session) {
        bytes_ -= at->second.bytes;
        at = loaded_.erase(at);
        continue;
      }
      if (const auto last = session->last_used(); last < before && !session->is_in_use()) {
        unused.push_back({last, at->second.bytes, std::move(session)});
      }
      ++at;
    }
  }
  std::sort(unused.begin(), unused.end(),
            [](const auto& one, const auto& other) { return one.last_used > other.last_used; });
  std::vector<std::shared_ptr<Session>> beyond;
  std::size_t kept = 0;
  for (auto& one : unused) {
    kept += one.bytes;
    if (kept > most_bytes_) {
      beyond.push_back(std::move(one.session));
    }
  }
  return beyond;
}

}  // namespace arborfs
