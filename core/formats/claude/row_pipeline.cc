#include "core/formats/claude/row_pipeline.h"

#include <algorithm>
#include <system_error>

#include "core/base/result_macros.h"

namespace arborfs::claude {

RowPipeline::RowPipeline(const LogSource& log, std::uint64_t begin, std::uint64_t end,
                         const std::atomic<bool>* cancelled)
    : log_(log), begin_(begin), end_(end), cancelled_(cancelled), count_((end - begin + kStretch - 1) / kStretch) {
  if (count_ <= 2) {
    return;
  }
  try {
    helper_.emplace([this] { help(); });
  } catch (const std::system_error&) {  // no thread available: this one does all the work
  }
}

RowPipeline::~RowPipeline() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  helper_.reset();
}

// Waits until the stretch is read; meanwhile reads others that no thread has claimed.
Result<const Stretch*> RowPipeline::next() {
  if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed)) {
    return Error{Errc::interrupted, "reading the log was cancelled"};
  }
  if (at_ == count_) {
    return static_cast<const Stretch*>(nullptr);
  }
  const std::uint64_t number = at_++;
  std::unique_lock lock(mutex_);
  first_ = number;
  changed_.notify_all();
  while (slot(number).number != number) {
    if (may_claim()) {
      fill_next(parser_, lock);
    } else {
      changed_.wait(lock);
    }
  }
  const Slot& filled = slot(number);
  if (filled.thrown) {
    std::rethrow_exception(filled.thrown);
  }
  RETURN_IF_ERROR(filled.outcome);
  return &filled.stretch;
}

bool RowPipeline::may_claim() {
  return unclaimed_ < count_ && unclaimed_ < first_ + kRing && !slot(unclaimed_).is_busy;
}

void RowPipeline::fill_next(RowParser& parser, std::unique_lock<std::mutex>& lock) {
  const std::uint64_t number = unclaimed_++;
  Slot& filled = slot(number);
  filled.is_busy = true;
  lock.unlock();
  filled.thrown = nullptr;
  try {
    const std::uint64_t begin = begin_ + number * kStretch;
    filled.outcome = read_stretch(log_, begin, std::min(begin + kStretch, end_), end_, parser, filled.stretch);
  } catch (...) {
    filled.thrown = std::current_exception();
  }
  lock.lock();
  filled.is_busy = false;
  filled.number = number;
  changed_.notify_all();
}

void RowPipeline::help() {
  RowParser parser;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_stopping_ || unclaimed_ == count_ || may_claim(); });
    if (is_stopping_ || unclaimed_ == count_) {
      return;
    }
    fill_next(parser, lock);
  }
}

}  // namespace arborfs::claude
