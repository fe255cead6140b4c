// How a session reads the new part of a log that has grown. When it does so: session_refreshing.cc.
#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "core/base/result_macros.h"
#include "core/render/record_renderer.h"
#include "core/session/session.h"

namespace arborfs {

namespace {

/// A write changes a file's mtime before it changes its size and its bytes.
constexpr std::chrono::milliseconds kWriteInProgress{1};

}  // namespace

/// The data that was read from a log that has grown.
struct Session::Grown {
  std::shared_ptr<const LogSource> log;
  FileStat stat;  // before it was read
  LogIndex::GrowthPtr growth;
  std::string slot;
};

/// The log with the current data that its agent keeps outside of it; null if another log has replaced it.
Result<std::shared_ptr<const LogSource>> Session::log_to_grow() const {
  if (log_->has_current_metadata()) {
    return log_;
  }
  ASSIGN_OR_RETURN(auto log, shared_.store->open(place()));
  return log->opened().same_file(log_->opened()) ? std::move(log) : nullptr;
}

/// True if known bytes of the log were written, although it is no longer than before and has the same title.
bool Session::is_written_within(const Grown& grown) const {
  const LogSource& log = *grown.log;
  const bool has_only_metadata =
      grown.log != log_ && grown.stat == log.opened() && log.opened_bytes() == log_->opened_bytes();
  return grown.stat.size == head_.stat.size && grown.stat.mtime_ns != head_.stat.mtime_ns &&
         grown.slot == slot_bytes_ && !has_only_metadata;
}

/// Reads the growth; false if the log must be read again from the start.
Result<bool> Session::read_growth(Grown& grown) const {
  ASSIGN_OR_RETURN(grown.growth, index_->read_growth(*grown.log));
  if (grown.growth == nullptr) {
    return false;
  }
  ASSIGN_OR_RETURN(grown.slot, current_slot());
  return true;
}

/// Nothing if the log must be read again from the start.
Result<std::optional<Session::Grown>> Session::read_grown(const FileStat& looked) const {
  constexpr int kTries = 10;
  Grown grown;
  ASSIGN_OR_RETURN(grown.log, log_to_grow());
  if (grown.log == nullptr) {
    return std::optional<Grown>();
  }
  grown.stat = grown.log == log_ ? looked : grown.log->opened();
  ASSIGN_OR_RETURN(bool goes_on, read_growth(grown));
  // A write in progress must not be mistaken for one in the middle of the log, nor its slot for the older one: the next
  // check would find the stat unchanged and never read the bytes that were written meanwhile.
  for (int i = 0; i < kTries && goes_on; ++i) {
    const bool may_be_under_way = is_written_within(grown);
    if (may_be_under_way) {
      std::this_thread::sleep_for(kWriteInProgress);
    }
    const auto now = grown.log->stat();
    if (!now || now->size < grown.stat.size || (*now == grown.stat && !may_be_under_way)) {
      break;
    }
    grown.stat = *now;
    ASSIGN_OR_RETURN(goes_on, read_growth(grown));
  }
  const bool may_differ = goes_on && is_written_within(grown) && !is_still_of(whole_mark_, *grown.log);
  return goes_on && !may_differ ? std::optional(std::move(grown)) : std::nullopt;
}

/// Applies the growth; true if anything visible changed.
bool Session::apply_growth(Grown grown, std::optional<TextSizes::Delta> delta) {
  const std::unique_lock lock(mutex_);
  const Ordinal before = index_->size();
  try {
    index_->apply(std::move(grown.growth));
    settle_leaf();
    if (delta) {
      details_->apply(std::move(*delta));
      details_->set_session_cost(index_->header().cost);
    }
  } catch (const std::bad_alloc&) {  // a partly grown index is read again
    index_.reset();
    details_.reset();
    moved_leaf_.reset();
    throw;
  }
  const bool was_cut = grown.stat.size < head_.stat.size;
  const bool raw_changed = grown.slot != slot_bytes_ || was_cut;
  const bool has_same_metadata = grown.log->metadata() == log_->metadata();
  const bool news = raw_changed || index_->size() != before || !(grown.stat == head_.stat) || !has_same_metadata;
  if (raw_changed) {
    raw_generation_ = ++shared_.generations;
  }
  if (was_cut) {
    bytes_generation_ = ++shared_.generations;
  }
  settled_ = std::max(settled_, index_->settled());
  slot_bytes_ = std::move(grown.slot);
  whole_mark_ = grown.stat.size == head_.stat.size ? whole_mark_ : std::nullopt;
  keep_head(grown.stat, index_->header());
  log_ = std::move(grown.log);
  if (news) {
    tail_aged_ = false;
    ++epoch_;
  }
  return news;
}

/// False if the log must be read again from the start.
Result<bool> Session::grow_index(const FileStat& looked) {
  ASSIGN_OR_RETURN(auto grown, read_grown(looked));
  if (!grown) {
    return false;
  }
  std::optional<TextSizes::Delta> delta;
  if (details_) {
    ASSIGN_OR_RETURN(
        delta, format().renderer->measure(*grown->log, details_->next(), index_->new_entries(*grown->growth), nullptr));
  }
  const Ordinal before = index_->size();
  const bool news = apply_growth(*std::move(grown), std::move(delta));
  if (may_lack_entries_) {
    look_for_erased(*log_, *index_);
  }
  const Ordinal after = index_->size();
  if (after > before) {
    publish(Change::Kind::session_appended, 0, before + 1, after);
  } else if (news) {
    publish(Change::Kind::session_touched, 0, kNoEntry, kNoEntry);
  }
  return true;
}

}  // namespace arborfs
