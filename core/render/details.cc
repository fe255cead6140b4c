#include "core/render/details.h"

#include <algorithm>
#include <span>

#include "core/base/two_threads.h"
#include "core/render/measure.h"
#include "core/render/text.h"

namespace arborfs {
namespace {

constexpr std::uint64_t kBatch = std::uint64_t{512} << 10U;
constexpr std::size_t kBatchesARound = 8;

/// Entries that lie behind each other, read and measured in one go.
class Batch {
 public:
  /// From `begin` on, as many as fit; at least one.
  Batch(const std::vector<Entry>& entries, std::size_t begin) : entries_(entries), begin_(begin), end_(begin) {
    const std::uint64_t from = entries[begin].offset;
    do {
      size_ = std::max(size_, entries[end_].offset + entries[end_].length - from);
      ++end_;
    } while (end_ < entries.size() && entries[end_].offset >= from &&
             entries[end_].offset + entries[end_].length <= from + kBatch);
  }

  [[nodiscard]] std::size_t end() const { return end_; }
  /// One entry that takes as much memory as a whole round.
  [[nodiscard]] bool is_giant() const { return size_ > kBatch; }

  /// Any thread, once.
  void measure(const LogFile& log, const std::atomic<bool>* cancelled) {
    Measurer measurer;
    for (std::size_t i = begin_; i < end_; ++i) {
      if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
        done_ = Result<void>(Errc::interrupted, "read entries: given up");
        return;
      }
      if (is_too_long(i)) {
        measures_.push_back({too_long_size(entries_[i].length), {}, {}});
        continue;
      }
      if (bytes_.empty()) {
        done_ = read(log);
        if (!done_) {
          return;
        }
      }
      measures_.push_back(measurer.measure(entries_[i].type, value(i)));
    }
    bytes_ = {};
  }

  /// Adds what was measured. Batches must be added in order, for sums depend on it.
  Result<void> add_to(LogDetails::Delta& delta) const {
    for (std::size_t i = 0; i < measures_.size(); ++i) {
      delta.add(entries_[begin_ + i].type, measures_[i]);
    }
    return done_;
  }

 private:
  Result<void> read(const LogFile& log) {
    bytes_.resize(size_ + Measurer::kPadding);
    const auto got = log.read_at(entries_[begin_].offset, std::span<char>(bytes_.data(), size_));
    if (!got) {
      return got.error();
    }
    return *got == size_ ? Result<void>() : Result<void>(Errc::stale, "read entries: the log has become shorter");
  }

  [[nodiscard]] bool is_too_long(std::size_t i) const { return entries_[i].length > kMaxRenderedEntry; }
  /// Followed by Measurer::kPadding readable bytes.
  [[nodiscard]] std::string_view value(std::size_t i) const {
    return std::string_view(bytes_).substr(entries_[i].offset - entries_[begin_].offset, entries_[i].length);
  }

  const std::vector<Entry>& entries_;
  std::size_t begin_;
  std::size_t end_;
  std::uint64_t size_ = 0;
  std::string bytes_;
  std::vector<Measure> measures_;
  Result<void> done_;
};

using Round = std::vector<Batch>;

/// The next batches from entry `begin` on; a giant stands alone.
Round next_round(const std::vector<Entry>& entries, std::size_t begin) {
  Round round;
  while (begin < entries.size() && round.size() < kBatchesARound) {
    Batch batch(entries, begin);
    if (batch.is_giant() && !round.empty()) {
      break;
    }
    begin = batch.end();
    round.push_back(std::move(batch));
    if (round.back().is_giant()) {
      break;
    }
  }
  return round;
}

Result<void> add_round(const Round& round, LogDetails::Delta& delta) {
  for (const Batch& batch : round) {
    if (auto added = batch.add_to(delta); !added) {
      return added;
    }
  }
  return {};
}

}  // namespace

/// One round is measured by two threads while the one before is added.
Result<LogDetails::Delta> LogDetails::read(const LogFile& log, Ordinal first, const std::vector<Entry>& entries,
                                           const std::atomic<bool>* cancelled) const {
  Delta delta;
  delta.first = first;
  delta.usage = usage_;
  delta.text_sizes.reserve(entries.size());
  Round before;
  Result<void> added;
  for (std::size_t at = 0; at < entries.size();) {
    Round round = next_round(entries, at);
    at = round.back().end();
    if (round.back().is_giant()) {  // nothing else is to be in memory then
      added = add_round(before, delta);
      before.clear();
    }
    const std::size_t first_batch = before.empty() ? 0 : 1;
    on_two_threads(first_batch + round.size(), [&](std::size_t i) {
      if (i < first_batch) {
        added = add_round(before, delta);
      } else {
        round[i - first_batch].measure(log, cancelled);
      }
    });
    if (!added) {
      return added.error();
    }
    before = std::move(round);
  }
  added = add_round(before, delta);
  return added ? Result<Delta>(std::move(delta)) : Result<Delta>(added.error());
}

void LogDetails::Delta::add(EntryType type, const Measure& measure) {
  text_sizes.push_back(static_cast<std::uint32_t>(measure.size));
  for (const ImageRef& image : measure.images) {
    images.push_back(image);
    images.back().ordinal = first + static_cast<Ordinal>(text_sizes.size()) - 1;
  }
  if (measure.usage) {
    usage.add(type, *measure.usage);
  }
}

namespace {

/// Larger entries leave no buffers behind in their thread.
constexpr std::size_t kKeptEntry = std::size_t{64} << 10U;

struct NotedMeasure : RecordNotes {
  explicit NotedMeasure(Measure found) : measure(std::move(found)) {}
  Measure measure;
};

Result<Measure> measure_in(const LogFile& log, const Entry& entry, std::uint64_t length) {
  if (length > kMaxRenderedEntry) {
    return Measure{too_long_size(length), {}, {}};
  }
  auto raw = log.read(entry.offset, length);
  if (!raw) {
    return raw.error();
  }
  raw->append(Measurer::kPadding, '\0');
  return Measurer().measure(entry.type, std::string_view(*raw).substr(0, length));
}

}  // namespace

std::unique_ptr<RecordNotes> DetailsNoter::read(EntryType type, std::string_view text,
                                                const json::Places& places) const {
  thread_local Measurer measurer;
  auto found = measurer.measure(type, text, places);
  if (text.size() > kKeptEntry) {
    measurer = Measurer();
  }
  return found ? std::make_unique<NotedMeasure>(*std::move(found)) : nullptr;
}

Result<void> DetailsNoter::take(const Entry& entry, std::uint64_t length, Flavour flavour, const RecordNotes* notes) {
  delta_.usage.set_flavour(flavour);
  if (notes != nullptr) {
    delta_.add(entry.type, static_cast<const NotedMeasure*>(notes)->measure);
    return {};
  }
  const auto measured = measure_in(log_, entry, length);
  if (!measured) {
    return measured.error();
  }
  delta_.add(entry.type, *measured);
  return {};
}

LogDetails DetailsNoter::take_details(Flavour flavour) {
  delta_.usage.set_flavour(flavour);
  LogDetails details(flavour);
  details.apply(std::move(delta_));
  return details;
}

void LogDetails::apply(Delta delta) {
  text_sizes_.insert(text_sizes_.end(), delta.text_sizes.begin(), delta.text_sizes.end());
  images_.insert(images_.end(), std::make_move_iterator(delta.images.begin()),
                 std::make_move_iterator(delta.images.end()));
  usage_ = std::move(delta.usage);
}

}  // namespace arborfs
