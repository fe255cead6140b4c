// How a session follows its log: when it checks the log, which of its data is still valid, how much to read, and when
// to evict data. How it reads: session_loading.cc.
#include <algorithm>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/clock.h"
#include "core/log/log_age.h"
#include "core/log/log_reader.h"
#include "core/session/session.h"

namespace arborfs {

bool Session::is_quick(Depth depth) const {
  if (works_long_) {
    return false;
  }
  if (depth == Depth::head || (depth == Depth::raw && !has(Depth::index))) {
    return true;
  }
  const auto st = shared_.store->stat(place());
  return !st || is_quick(depth, *st);
}

bool Session::is_quick(Depth depth, const FileStat& now) const {
  if (works_long_) {
    return false;
  }
  const std::shared_lock lock(mutex_);
  if (depth == Depth::head || (depth == Depth::raw && !index_)) {
    return true;
  }
  const bool same_file = log_ && log_->opened().same_file(now);
  const bool is_read_whole = !format().reader->only_grow() && (!(now == head_.stat) || racy_);  // if anything changed
  const std::uint64_t indexed = index_ && same_file && !is_read_whole ? std::min(index_->scanned_size(), now.size) : 0;
  const std::uint64_t to_detail = depth == Depth::details && !details_ ? now.size : 0;
  return now.size - indexed + to_detail <= kQuickBytes;
}

Result<void> Session::refresh(Depth depth, const std::atomic<bool>* cancelled) {
  return refresh_as([this] { return shared_.store->stat(place()); }, depth, cancelled);
}

Result<void> Session::refresh(Depth depth, const Look& stat) {
  return refresh_as(stat, depth, nullptr);
}

Result<void> Session::follow() {
  std::optional<FileStat> before;
  {
    const std::shared_lock lock(mutex_);
    before = let_go_ ? std::optional(let_go_->stat) : std::nullopt;
  }
  const auto now = before ? shared_.store->stat(place()) : Result<FileStat>(Errc::not_found, "");
  return refresh(now && !(*now == *before) ? Depth::index : Depth::head);
}

Result<void> Session::refresh_as(const Look& stat, Depth depth, const std::atomic<bool>* cancelled) {
  note_used();
  auto done = [&] {
    const std::lock_guard refreshing(refresh_mutex_);
    const auto start = Clock::now();
    return note_look(start, refresh_locked(depth, stat(), cancelled != nullptr ? cancelled : Cancellation::current()));
  }();
  note_used();  // again: the refresh may have taken longer than kJustUsed
  note_loaded();
  return done;
}

Result<void> Session::note_look(Clock::time_point start, Result<void> outcome) {
  looked_ = outcome ? start : kNever;
  return outcome;
}

bool Session::is_current(const FileStat& st, Depth depth) const {
  return head_loaded_ && !racy_ && st == head_.stat && has_locked(depth);
}

/// True for a log that was read just after it was written, if it is short enough to compare all its bytes: reading it
/// again would start a new generation if there is nothing to grow from.
bool Session::is_same_after_all(const FileStat& st, Depth depth) const {
  if (!head_loaded_ || !whole_mark_ || !(st == head_.stat) || !has_locked(depth)) {
    return false;
  }
  const auto same = whole_mark_->is_of(*log_);
  const auto slot = current_slot();
  if (!same || !*same || !slot || *slot != slot_bytes_) {
    return false;
  }
  const auto now = log_to_grow();
  return now && *now != nullptr && (*now)->metadata() == log_->metadata();
}

Result<void> Session::refresh_locked(Depth depth, const Result<FileStat>& now, const std::atomic<bool>* cancelled) {
  if (!now) {
    return fail(now.error());
  }
  {
    const std::shared_lock lock(mutex_);
    if (gone_) {
      return Error{Errc::not_found, "the log is gone"};
    }
    depth = std::max(depth, details_ ? Depth::details : index_ ? Depth::index : log_ ? Depth::raw : Depth::head);
  }
  if (is_current(*now, depth)) {
    age_tail(*now);
    return {};
  }
  const std::int64_t started = now_ns();
  if (is_same_after_all(*now, depth)) {
    racy_ = is_younger(now->mtime_ns, started, kRacyNanos);
    age_tail(*now);
    return {};
  }
  has_loaded_ = true;
  if (auto done = take_in(*now, depth, cancelled); !done) {
    return done.error().code == Errc::interrupted ? done : fail(done.error());
  }
  racy_ = is_younger(head_.stat.mtime_ns, started, kRacyNanos);  // head_.stat may be newer than `now`
  age_tail(*now);
  return {};
}

Result<void> Session::take_in(const FileStat& st, Depth depth, const std::atomic<bool>* cancelled) {
  if (depth == Depth::head) {
    return load_head(st);
  }
  if (depth == Depth::raw) {
    return load_raw(st);
  }
  const bool unchanged = is_current(st, Depth::index) || is_same_after_all(st, Depth::index);
  if (!unchanged) {
    bool grown = false;
    if (index_ && log_ && log_->opened().same_file(st) && !log_->is_decoded()) {
      auto growth = grow_index(st);
      if (!growth && growth.error().code != Errc::stale) {
        return growth.error();
      }
      grown = growth && *growth;
    }
    if (!grown) {
      return load_index(st, depth, cancelled);
    }
  }
  return depth == Depth::details && !details_ ? load_details(cancelled) : Result<void>{};
}

Result<void> Session::fail(const Error& error) {
  bool news = false;
  {
    const std::unique_lock lock(mutex_);
    news = head_.problem != error.message;
    head_.problem = error.message;
    head_loaded_ = false;
    if (news) {
      ++epoch_;
    }
  }
  if (news && error.code != Errc::not_found) {
    publish(Change::Kind::session_touched, 0, kNoEntry, kNoEntry);
  }
  return error;
}

void Session::age_tail(const FileStat& st) {
  {
    const std::unique_lock lock(mutex_);
    if (!index_ || tail_aged_ || is_younger(st.mtime_ns, now_ns(), kTailAgeNanos)) {
      return;
    }
    tail_aged_ = true;
    const auto damage = index_->damage();
    if (damage.empty() || !damage.back().in_progress) {
      return;
    }
    ++epoch_;
  }
  publish(Change::Kind::session_touched, 0, kNoEntry, kNoEntry);
}

bool Session::let_go() {
  const std::unique_lock refreshing(refresh_mutex_, std::try_to_lock);
  if (!refreshing || !index_ || uses_ != 0 || !is_at_rest()) {
    return false;
  }
  const auto log_mark = ContentFingerprint::of(*log_, slot_bytes_.size(), head_.stat.size);
  if (!log_mark || !is_at_rest()) {
    return false;
  }
  const LetGo mark{IndexFingerprint::of(*index_), head_.stat};
  std::unique_ptr<LogIndex> index;  // freed after the lock is released, as are the details
  std::unique_ptr<TextSizes> details;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || uses_ != 0) {
    return false;
  }
  index = std::move(index_);
  details = std::move(details_);
  moved_leaf_.reset();
  log_mark_ = *log_mark;
  let_go_ = mark;
  return true;
}

/// True if the log is unchanged since the last read, and nothing will change merely because it grows older.
bool Session::is_at_rest() const {
  if (!head_loaded_ || racy_ || !tail_aged_ || log_->is_decoded()) {
    return false;
  }
  const auto st = log_->stat();
  return st && *st == head_.stat;
}

}  // namespace arborfs
