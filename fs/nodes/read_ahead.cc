#include "fs/nodes/read_ahead.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/entry/record_renderer.h"
#include "fs/nodes/request_context.h"

namespace arborfs {

namespace {

/// How far ahead of `from` `to` is in the direction of `step`.
std::int64_t ahead(std::int64_t from, std::int64_t to, int step) {
  return (to - from) * step;
}

NodeId folder_of(NodeId node) {
  return {node.kind(), node.slot(), 0};
}

}  // namespace

/// True where a reader that continues the walk may be: near its last file, or in the predicted range.
bool SequentialReaders::is_on(const Walk& walk, NodeId folder, Ordinal ordinal) {
  if (walk.folder != folder) {
    return false;
  }
  if (walk.lead == 0) {
    return std::abs(ahead(walk.at, ordinal, 1)) <= kNear;
  }
  return ahead(walk.at, ordinal, walk.step) >= -kNear && ahead(walk.end, ordinal, walk.step) <= kNear;
}

/// The walk that this file belongs to, or a new one that replaces the least recently used. Several threads of one
/// reader may go through a folder from both ends.
std::size_t SequentialReaders::walk_at(NodeId folder, Ordinal ordinal) {
  const auto same = [&](const Walk& walk) { return is_on(walk, folder, ordinal); };
  auto found = std::find_if(walks_.begin(), walks_.end(), same);
  if (found == walks_.end()) {
    found = std::min_element(walks_.begin(), walks_.end(),
                             [](const Walk& one, const Walk& other) { return one.used < other.used; });
    *found = Walk{};
    found->folder = folder;
  }
  found->used = ++uses_;
  return static_cast<std::size_t>(found - walks_.begin());
}

/// Null if another walk has replaced it.
SequentialReaders::Walk* SequentialReaders::walk_of(std::size_t number, NodeId folder, int step) {
  Walk& walk = walks_[number];
  return walk.folder == folder && walk.step == step && walk.lead != 0 ? &walk : nullptr;
}

void SequentialReaders::begin(Walk& walk, Ordinal at) {
  Walk fresh;
  fresh.folder = walk.folder;
  fresh.used = walk.used;
  fresh.at = at;
  walk = std::move(fresh);
}

/// Adds a file to a walk; false if it starts another walk.
bool SequentialReaders::goes_on(Walk& walk, Ordinal ordinal) {
  const std::int64_t far = ahead(walk.at, ordinal, 1);
  if (walk.at == kNoEntry || far == 0 || std::abs(far) > kNear) {
    return false;
  }
  if (walk.step == 0) {
    walk.step = far > 0 ? 1 : -1;
  }
  if (ahead(walk.at, ordinal, walk.step) > 0) {
    walk.at = ordinal;
    ++walk.in_a_row;
  }
  return true;
}

/// True if the reader has reached a marker; the markers before it are dropped.
bool SequentialReaders::takes_marker(Walk& walk, Ordinal ordinal) {
  const auto marker = std::find(walk.markers.begin(), walk.markers.end(), ordinal);
  if (marker == walk.markers.end()) {
    return false;
  }
  walk.markers.erase(walk.markers.begin(), marker + 1);
  walk.at = ordinal;
  return true;
}

/// Predicts the files after the last predicted one, up to `to`.
std::optional<ReadAheadRange> SequentialReaders::lead_on(std::size_t number, std::int64_t to) {
  Walk& walk = walks_[number];
  to = std::clamp<std::int64_t>(to, 1, UINT32_MAX);
  const std::int64_t count = ahead(walk.end, to, walk.step);
  if (count <= 0) {
    return std::nullopt;
  }
  const auto first = static_cast<Ordinal>(walk.end + walk.step);
  walk.end = to;
  return ReadAheadRange{walk.folder, first, walk.step, static_cast<std::uint32_t>(count), walk.at, number};
}

std::optional<ReadAheadRange> SequentialReaders::note(NodeId node) {
  const Ordinal ordinal = node.item();
  const std::size_t number = walk_at(folder_of(node), ordinal);
  Walk& walk = walks_[number];
  if (takes_marker(walk, ordinal)) {
    walk.lead = std::min(walk.lead * 2, kLongestLead);
    return lead_on(number, ordinal + walk.step * walk.lead);
  }
  if (walk.lead != 0 && ahead(ordinal, walk.end, walk.step) >= 0 && ahead(walk.at, ordinal, walk.step) >= -kNear) {
    return std::nullopt;  // it was asked for before it could be prefetched
  }
  if (walk.lead != 0 && ahead(walk.end, ordinal, walk.step) > 0) {
    walk.at = static_cast<Ordinal>(walk.end);  // the reader passed the markers without a request
  }
  if (!goes_on(walk, ordinal)) {
    begin(walk, ordinal);
  }
  if (walk.in_a_row < kSure) {
    return std::nullopt;
  }
  // The reader asks for the next few files before they could be prefetched.
  walk.end = walk.at + walk.step * (kNear - 1);
  walk.lead = std::max(walk.lead, kFirstLead);
  return lead_on(number, walk.end + walk.step * walk.lead);
}

Ordinal SequentialReaders::mark(const ReadAheadRange& stretch) {
  Walk* const walk = walk_of(stretch.walk, stretch.folder, stretch.step);
  const Ordinal middle = stretch.nth(stretch.count / 2);
  if (walk == nullptr || stretch.count == 0 || ahead(walk->at, middle, stretch.step) <= 0) {
    return kNoEntry;
  }
  std::erase_if(walk->markers, [&](Ordinal marker) { return ahead(walk->at, marker, stretch.step) <= 0; });
  if (!walk->markers.empty() && ahead(walk->markers.back(), middle, stretch.step) < kApart) {
    return kNoEntry;
  }
  walk->markers.push_back(middle);
  return middle;
}

void SequentialReaders::cut(const ReadAheadRange& stretch, std::uint32_t count) {
  Walk* const walk = walk_of(stretch.walk, stretch.folder, stretch.step);
  const std::int64_t end = stretch.first + stretch.step * (static_cast<std::int64_t>(count) - 1);
  if (walk == nullptr || ahead(end, walk->end, stretch.step) <= 0) {
    return;
  }
  walk->end = end;
  std::erase_if(walk->markers, [&](Ordinal marker) { return ahead(end, marker, stretch.step) > 0; });
}

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

ReadAhead::ReadAhead(MountState& state, Keep keep) : state_(state), keep_(std::move(keep)) {
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

/// Never allocates: wanted_ stays within its reserved capacity.
void ReadAhead::note(NodeId node) {
  if (node.kind() != Kind::entry && node.kind() != Kind::text) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    const auto stretch = readers_.note(node);
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
  Files found{stretch, nullptr, nullptr, {}, {}};
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
  return found;
}

void ReadAhead::leave_out_marker(Files& files) {
  const std::lock_guard lock(mutex_);
  const Ordinal marker = readers_.mark(files.stretch);
  std::erase_if(files.files, [&](const Files::File& file) { return file.node.item() == marker; });
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
  return text_.size() == file.size && keep_(file.node, text_);
}

}  // namespace arborfs
