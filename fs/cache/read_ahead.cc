#include "fs/cache/read_ahead.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/exception_log.h"
#include "core/render/record_renderer.h"
#include "fs/tree/resolve_session.h"

namespace arborfs {

/// A part of the log that is read in one step.
struct ReadAhead::Run {
  std::size_t end;  // index after the last of its files
  std::uint64_t offset;
  std::uint64_t length;
};

namespace {

/// A log written less than this ago may be written again without a change of its mtime.
constexpr std::int64_t kRacyNanos = 50'000'000;
/// This far ahead of the reader the thread is in no hurry.
constexpr std::int64_t kLeisure = SequentialReaders::kLongestLead * 3 / 4;
constexpr std::size_t kMostWanted = SequentialReaders::kMost;

bool is_settled(const FileStat& st) {
  return now_ns() - st.mtime_ns >= kRacyNanos;
}

std::int64_t distance(Ordinal one, Ordinal other) {
  return std::abs(static_cast<std::int64_t>(one) - static_cast<std::int64_t>(other));
}

/// Limits how far from a reader files may be prefetched.
class Bounds {
 public:
  Bounds(const LogIndex& index, const ReadAheadRange& stretch)
      : index_(index), reader_(offset(std::clamp<Ordinal>(stretch.reader, 1, std::max<Ordinal>(index.size(), 1)))) {}
  [[nodiscard]] bool has(Ordinal ordinal) const {
    return ordinal != kNoEntry && ordinal <= index_.size() && far(offset(ordinal)) <= ReadAhead::kMostBytes;
  }

 private:
  [[nodiscard]] std::uint64_t offset(Ordinal ordinal) const {
    return ordinal <= index_.size() ? index_.entry(ordinal).offset : 0;
  }
  [[nodiscard]] std::uint64_t far(std::uint64_t at) const { return at < reader_ ? reader_ - at : at - reader_; }
  const LogIndex& index_;
  const std::uint64_t reader_;
};

/// Empty for a file that is too long to be prefetched.
std::optional<std::uint64_t> size_to_hand_over(const Session::Guard& guard, Kind kind, Ordinal ordinal) {
  const std::uint64_t length = guard.index().length(ordinal);
  const std::uint64_t size = kind == Kind::text ? guard.details().text_size(ordinal) : length + 1;
  return std::max(length, size) > ReadAhead::kLongestFile ? std::nullopt : std::optional(size);
}

}  // namespace

ReadAhead::ReadAhead(MountState& state, Store store) : state_(state), store_(std::move(store)) {
  wanted_.reserve(kMostWanted);
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

/// `next` returns a stretch of readers_, or nothing. Never allocates: wanted_ stays within its reserved capacity.
template <class Next>
void ReadAhead::want(Next next) {
  {
    const std::lock_guard lock(mutex_);
    const auto stretch = next();
    if (!stretch) {
      return;
    }
    if (wanted_.size() == kMostWanted) {
      readers_.cut(*stretch, 0);
      return;
    }
    wanted_.push_back(*stretch);
  }
  wake_.notify_one();
}

void ReadAhead::note(NodeId node) {
  if (node.kind() == Kind::entry || node.kind() == Kind::text) {
    want([&] { return readers_.note(node); });
  }
}

void ReadAhead::note_listed(NodeId folder, bool is_from_start, Ordinal last) {
  if (folder.kind() == Kind::entries || folder.kind() == Kind::texts) {
    const NodeId files(folder.kind() == Kind::entries ? Kind::entry : Kind::text, folder.slot(), 0);
    want([&] { return readers_.note_listed(files, is_from_start, last); });
  }
}

void ReadAhead::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !wanted_.empty(); });
    if (stopping_) {
      return;
    }
    const ReadAheadRange stretch = wanted_.front();
    wanted_.erase(wanted_.begin());
    is_working_ = true;
    lock.unlock();
    try {
      hand_over(stretch);
    } catch (const std::exception&) {
      cut(stretch, 0);
      log_exception("reading ahead failed");
    }
    lock.lock();
    is_working_ = false;
  }
}

void ReadAhead::hand_over(const ReadAheadRange& stretch) {
  Files files = files_of(stretch);
  if (files.stretch.count < stretch.count) {
    cut(stretch, files.stretch.count);
  }
  leave_out_marker(files);
  const std::size_t handed_over = hand_over(files);
  if (handed_over < files.files.size()) {
    const Ordinal next = files.files[handed_over].node.item();
    cut(stretch, static_cast<std::uint32_t>(distance(stretch.first, next)));
  }
}

/// A stretch ends earlier than predicted, so later stretches of its walk are dropped.
void ReadAhead::cut(const ReadAheadRange& stretch, std::uint32_t count) {
  const std::lock_guard lock(mutex_);
  readers_.cut(stretch, count);
  std::erase_if(wanted_, [&](const ReadAheadRange& later) {
    return later.walk == stretch.walk && later.folder == stretch.folder && later.step == stretch.step;
  });
}

ReadAhead::Files ReadAhead::files_of(const ReadAheadRange& stretch) const {
  Files found{stretch, false, nullptr, nullptr, {}, {}};
  found.stretch.count = 0;
  const Kind kind = stretch.folder.kind();
  const auto ref = session_of(state_, stretch.folder);
  if (!ref) {
    return found;
  }
  const auto guard = guard_of(*ref);
  if (!guard || (kind == Kind::text && !guard->has_details())) {
    return found;
  }
  found.renderer = ref->session->format().renderer;
  found.log = guard->log();
  found.log_stat = guard->stat();
  const Bounds bounds(guard->index(), stretch);
  std::uint32_t& count = found.stretch.count;
  for (; count < stretch.count && bounds.has(stretch.nth(count)); ++count) {
    const Ordinal ordinal = stretch.nth(count);
    if (guard->generation_of(ordinal) != ref->generation) {
      break;  // other nodes
    }
    if (const auto size = size_to_hand_over(*guard, kind, ordinal)) {
      found.files.push_back({NodeId(kind, stretch.folder.slot(), ordinal), guard->index().entry(ordinal), *size});
    }
  }
  found.is_at_end = count < stretch.count && stretch.nth(count) > guard->index().size();
  return found;
}

void ReadAhead::leave_out_marker(Files& files) {
  const std::lock_guard lock(mutex_);
  const Ordinal marker = readers_.mark(files.stretch);
  std::erase_if(files.files, [&](const Files::File& file) { return file.node.item() == marker; });
  if (files.is_at_end) {
    readers_.note_end(files.stretch);
  }
}

/// Returns how many files were stored: all, unless the log changed, the kernel does not know a file, or the thread
/// stops.
std::size_t ReadAhead::hand_over(const Files& files) {
  std::size_t at = 0;
  while (at < files.files.size() && !is_stopping()) {
    const Run run = run_from(files, at);
    if (!read(files, run)) {
      return at;
    }
    for (; at < run.end; ++at) {
      const Files::File& file = files.files[at];
      if (distance(files.stretch.reader, file.node.item()) >= kLeisure) {
        std::this_thread::yield();  // the reader may be part of a pipeline, as in tar | gzip
      }
      if (!hand_over_one(files, file,
                         std::string_view(raw_).substr(file.entry.offset - run.offset, file.entry.length))) {
        return at;
      }
    }
  }
  return at;
}

/// Files that are near each other in the log; at least the first.
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

/// False if the log has changed.
bool ReadAhead::read(const Files& files, const Run& run) {
  raw_.resize(run.length);
  const auto got = files.log->read_at(run.offset, raw_);
  const auto st = files.log->stat();
  return got && *got == raw_.size() && st && *st == files.log_stat && is_settled(*st);
}

/// False if the kernel does not know the file.
bool ReadAhead::hand_over_one(const Files& files, const Files::File& file, std::string_view raw) {
  text_.clear();
  if (file.node.kind() == Kind::entry) {
    text_.append(raw).push_back('\n');
  } else {
    files.renderer->render(file.entry.type, raw, text_);
  }
  return text_.size() == file.size && store_(file.node, text_);
}

}  // namespace arborfs
