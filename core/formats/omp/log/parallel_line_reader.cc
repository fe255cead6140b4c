#include "core/formats/omp/log/parallel_line_reader.h"

#include <algorithm>
#include <exception>
#include <span>
#include <system_error>

namespace arborfs {

namespace {

constexpr std::size_t kMoreAtATime = 16 * 1024;  // read at a time past a step, to find the end of its last line
constexpr std::size_t kMostMore = 256 * 1024;    // longer lines are left to the scanner
constexpr std::size_t kLeastLine = 64;           // limits the lines kept per step; agents' lines are longer
constexpr std::size_t kPadding = SimdRecordParser::kPadding;

// The bytes read so far of a step and of the rest of its last line.
class StepBytes {
 public:
  /// `bytes` must have room for all bytes that will be read, plus kPadding.
  StepBytes(const LogSource& log, std::uint64_t offset, std::uint64_t end, char* bytes)
      : log_(log), offset_(offset), end_(end), bytes_(bytes) {}

  /// Reads up to `size` more bytes; false if none could be read.
  bool read(std::size_t size) {
    const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(size, end_ - offset_ - filled_));
    const auto got = log_.read_at(offset_ + filled_, std::span<char>(bytes_ + filled_, room));
    filled_ += got ? *got : 0;
    return got && *got != 0;
  }

  /// The position after the first line feed from `from` on, or npos. Reads more bytes, up to `limit`, if needed.
  std::size_t behind_newline(std::size_t from, std::size_t limit) {
    for (;;) {
      if (const std::size_t at = text().find('\n', from); at != std::string_view::npos) {
        return at + 1;
      }
      from = filled_;
      if (filled_ >= limit || !read(kMoreAtATime)) {
        return std::string_view::npos;
      }
    }
  }

  /// The offset of the first byte in the log.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] std::string_view text() const { return {bytes_, filled_}; }

 private:
  const LogSource& log_;
  const std::uint64_t offset_;
  const std::uint64_t end_;
  char* const bytes_;
  std::size_t filled_ = 0;
};

std::string_view without_trailing_space(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace

ParallelLineReader::ParallelLineReader(const LogSource& log, std::uint64_t begin, std::uint64_t end,
                                       const std::atomic<bool>* cancelled, const ScanObserver* noter, std::size_t step)
    : log_(log),
      begin_(begin),
      end_(end),
      cancelled_(cancelled),
      noter_(noter),
      step_(step),
      count_((end - begin + step - 1) / step),
      parser_(noter) {
  if (count_ <= kRing) {
    return;
  }
  try {
    helper_.emplace([this] { help(); });
  } catch (const std::system_error&) {  // no thread available: this one does all the work
  }
}

ParallelLineReader::~ParallelLineReader() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  helper_.reset();
}

const ParallelLineReader::Line* ParallelLineReader::line_at(std::uint64_t offset) {
  if (offset >= end_ || (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed))) {
    return nullptr;
  }
  if (const std::uint64_t number = (offset - begin_) / step_; number != current_) {
    go_to(number);
  }
  const std::vector<Line>& lines = chunk(current_).lines;
  while (at_ < lines.size() && lines[at_].record.offset < offset) {
    ++at_;
  }
  return at_ < lines.size() && lines[at_].record.offset == offset ? &lines[at_] : nullptr;
}

// Waits until the chunk is filled; meanwhile fills chunks that no thread has claimed.
void ParallelLineReader::go_to(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  first_ = number;
  next_ = std::max(next_, number);
  changed_.notify_all();
  while (chunk(number).number != number) {
    if (may_claim()) {
      fill_next(parser_, lock);
    } else {
      changed_.wait(lock);
    }
  }
  current_ = number;
  at_ = 0;
}

bool ParallelLineReader::may_claim() {
  return next_ < count_ && next_ < first_ + kRing && !chunk(next_).is_busy;
}

void ParallelLineReader::fill_next(SimdRecordParser& parser, std::unique_lock<std::mutex>& lock) {
  const std::uint64_t number = next_++;
  Chunk& filled = chunk(number);
  filled.is_busy = true;
  lock.unlock();
  try {
    fill(filled, number, parser);
  } catch (const std::exception&) {  // for example, out of memory: the scanner reads these lines in the ordinary way
    filled.lines.clear();
  }
  lock.lock();
  filled.is_busy = false;
  filled.number = number;
  changed_.notify_all();
}

void ParallelLineReader::fill(Chunk& chunk, std::uint64_t number, SimdRecordParser& parser) const {
  chunk.lines.clear();
  // The byte before the step shows whether a line starts at the step's first byte.
  const std::size_t before = number == 0 ? 0 : 1;
  const std::size_t inside = before + step_;
  if (!chunk.bytes) {  // not initialised, so that unused pages are never touched
    const std::uint64_t most = std::min<std::uint64_t>(1 + step_ + kMostMore + kMoreAtATime, 1 + end_ - begin_);
    chunk.bytes = std::make_unique_for_overwrite<char[]>(most + kPadding);
  }
  StepBytes bytes(log_, begin_ + number * step_ - before, end_, chunk.bytes.get());
  if ((cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed)) || !bytes.read(inside)) {
    return;
  }
  std::size_t start = before == 0 ? 0 : bytes.behind_newline(0, inside);
  while (start < inside && chunk.lines.size() <= step_ / kLeastLine) {
    const std::size_t next = bytes.behind_newline(start, inside + kMostMore);
    if (next == std::string_view::npos) {
      return;
    }
    const std::string_view value = without_trailing_space(bytes.text().substr(start, next - 1 - start));
    const bool is_container = value.starts_with('{') || value.starts_with('[');
    Line& line = chunk.lines.emplace_back();
    if (is_container && parser.parse(value, line.record)) {
      line.record.offset = bytes.offset() + start;
      line.record.length = value.size();
      line.next = bytes.offset() + next;
      line.notes = parser.take_notes();
    } else {
      chunk.lines.pop_back();
    }
    start = next;
  }
}

void ParallelLineReader::help() {
  SimdRecordParser parser(noter_);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_stopping_ || next_ == count_ || may_claim(); });
    if (is_stopping_ || next_ == count_) {
      return;
    }
    fill_next(parser, lock);
  }
}

}  // namespace arborfs
