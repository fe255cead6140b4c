#include "fs/read_ahead.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/render/text.h"
#include "fs/session_access.h"

namespace arborfs {

/// A part of the log that is read in one go.
struct ReadAhead::Run {
  std::size_t end;  // behind the last of its files
  std::uint64_t offset;
  std::uint64_t length;
};

namespace {

/// A log written less than this before may be written again without its time showing it.
constexpr std::int64_t kRacyNanos = 50'000'000;
constexpr std::size_t kMostWanted = Walks::kMost;

bool is_settled(const FileStat& st) {
  return now_ns() - st.mtime_ns >= kRacyNanos;
}

/// Nothing for what is too long to be handed over.
std::optional<std::uint64_t> size_to_hand_over(const Session::Guard& guard, Kind kind, Ordinal ordinal) {
  const std::uint64_t length = guard.index().length(ordinal);
  const std::uint64_t size = kind == Kind::text ? guard.details().text_size(ordinal) : length + 1;
  return std::max(length, size) > ReadAhead::kLongestFile ? std::nullopt : std::optional(size);
}

}  // namespace

ReadAhead::ReadAhead(MountState& state, Store store) : state_(state), store_(std::move(store)) {
  thread_ = std::thread([this] { run(); });
}

ReadAhead::~ReadAhead() {
  stop();
}

void ReadAhead::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool ReadAhead::is_stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

bool ReadAhead::is_busy() {
  const std::lock_guard lock(mutex_);
  return is_working_ || !wanted_.empty();
}

void ReadAhead::note(NodeId node) {
  if (node.kind() != Kind::entry && node.kind() != Kind::text) {
    return;
  }
  try {
    const std::lock_guard lock(mutex_);
    const auto stretch = walks_.note(node);
    if (!stretch || wanted_.size() >= kMostWanted) {
      return;
    }
    wanted_.push_back(*stretch);
  } catch (const std::exception&) {
    return;  // no memory for it; who called knows nothing of reading ahead
  }
  wake_.notify_one();
}

void ReadAhead::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !wanted_.empty(); });
    if (stopping_) {
      return;
    }
    const WalkStretch stretch = wanted_.front();
    wanted_.pop_front();
    is_working_ = true;
    lock.unlock();
    try {
      hand_over(files_of(stretch));
    } catch (const std::exception& failure) {
      write_log(LogLevel::error, std::string("reading ahead failed: ") + failure.what());
    }
    lock.lock();
    is_working_ = false;
  }
}

ReadAhead::Files ReadAhead::files_of(const WalkStretch& stretch) const {
  Files found;
  const auto ref = session_of(state_, NodeId(stretch.kind, stretch.slot, stretch.first));
  const auto guard = ref ? guard_of(*ref) : Result<Session::Guard>(ref.error());
  if (!guard || (stretch.kind == Kind::text && !guard->has_details())) {
    return found;
  }
  found.log = guard->log();
  found.log_stat = guard->stat();
  std::uint64_t bytes = 0;
  for (std::uint32_t n = 0; n < stretch.count && bytes < kMostBytes; ++n) {
    const Ordinal ordinal = stretch.nth(n);
    if (ordinal == kNoEntry || ordinal > guard->index().size()) {
      break;
    }
    const auto size = size_to_hand_over(*guard, stretch.kind, ordinal);
    if (size && ordinal != stretch.marker) {
      found.files.push_back({NodeId(stretch.kind, stretch.slot, ordinal), guard->index().entry(ordinal), *size});
      bytes += guard->index().length(ordinal);
    }
  }
  return found;
}

void ReadAhead::hand_over(const Files& files) {
  for (std::size_t at = 0; at < files.files.size() && !is_stopping();) {
    const Run run = run_from(files, at);
    if (!read(files, run)) {
      return;
    }
    for (; at < run.end; ++at) {
      const Files::File& file = files.files[at];
      if (!hand_over_one(file, std::string_view(raw_).substr(file.entry.offset - run.offset, file.entry.length))) {
        return;
      }
    }
  }
}

/// Files that lie near each other in the log: at least the first.
ReadAhead::Run ReadAhead::run_from(const Files& files, std::size_t first) {
  const Entry& entry = files.files[first].entry;
  Run run{first + 1, entry.offset, entry.length};
  for (; run.end < files.files.size(); ++run.end) {
    const Entry& next = files.files[run.end].entry;
    const std::uint64_t offset = std::min(run.offset, next.offset);
    const std::uint64_t length = std::max(run.offset + run.length, next.offset + next.length) - offset;
    if (length > kLongestFile) {
      break;
    }
    run.offset = offset;
    run.length = length;
  }
  return run;
}

/// False when the log has changed.
bool ReadAhead::read(const Files& files, const Run& run) {
  raw_.resize(run.length);
  const auto got = files.log->read_at(run.offset, raw_);
  const auto st = files.log->stat();
  return got && *got == raw_.size() && st && *st == files.log_stat && is_settled(*st);
}

/// False when the kernel does not know the file.
bool ReadAhead::hand_over_one(const Files::File& file, std::string_view raw) {
  text_.clear();
  if (file.node.kind() == Kind::entry) {
    text_.append(raw).push_back('\n');
  } else {
    render_text(file.entry.type, raw, text_);
  }
  return text_.size() == file.size && store_(file.node, text_);
}

}  // namespace arborfs
