#include "core/render/details.h"

#include <algorithm>
#include <span>

#include "core/render/images.h"
#include "core/render/measure.h"
#include "core/render/text.h"

namespace arborfs {
namespace {

constexpr std::uint64_t kWindow = std::uint64_t{2} << 20U;

/// Reads runs of entries that lie behind each other in one go.
class EntryWindow {
 public:
  EntryWindow(const LogFile& log, const std::vector<Entry>& entries) : log_(log), entries_(entries) {}

  /// The value of entry `i`, followed by kReadAhead readable bytes; good until the next call.
  Result<std::string_view> value(std::size_t i) {
    const Entry& entry = entries_[i];
    if (entry.offset < begin_ || entry.offset + entry.length > begin_ + filled_) {
      if (const auto filled = fill(i); !filled) {
        return filled.error();
      }
    }
    return std::string_view(buffer_).substr(entry.offset - begin_, entry.length);
  }

 private:
  Result<void> fill(std::size_t first) {
    begin_ = entries_[first].offset;
    filled_ = entries_[first].length;
    for (std::size_t i = first + 1; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      if (entry.offset < begin_ || entry.offset + entry.length > begin_ + kWindow) {
        break;
      }
      filled_ = std::max(filled_, entry.offset + entry.length - begin_);
    }
    shrink_after_giant();
    if (buffer_.size() < filled_ + kReadAhead) {
      buffer_.resize(filled_ + kReadAhead);
    }
    const auto got = log_.read_at(begin_, std::span<char>(buffer_.data(), filled_));
    if (!got) {
      filled_ = 0;
      return got.error();
    }
    if (*got != filled_) {
      filled_ = 0;
      return Result<void>(Errc::stale, "read entries: the log has become shorter");
    }
    return {};
  }

  void shrink_after_giant() {
    if (filled_ <= kWindow && buffer_.size() > 2 * kWindow) {
      buffer_.clear();
      buffer_.shrink_to_fit();
    }
  }

  const LogFile& log_;
  const std::vector<Entry>& entries_;
  std::string buffer_;
  std::uint64_t begin_ = 0;
  std::uint64_t filled_ = 0;
};

void add_entry(Ordinal ordinal, EntryType type, std::string_view raw, LogDetails::Delta& delta) {
  const TextMeasure measure = measure_text(type, raw);
  delta.text_sizes.push_back(static_cast<std::uint32_t>(measure.size));
  if (measure.images > 0) {
    find_images(ordinal, type, raw, delta.images);
  }
  if (measure.has_usage) {
    delta.usage.add(type, raw);
  }
}

}  // namespace

Result<LogDetails::Delta> LogDetails::read(const LogFile& log, Ordinal first, const std::vector<Entry>& entries,
                                           const std::atomic<bool>* cancelled) const {
  Delta delta;
  delta.first = first;
  delta.usage = usage_;
  delta.text_sizes.reserve(entries.size());
  EntryWindow window(log, entries);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
      return Result<Delta>(Errc::interrupted, "read entries: given up");
    }
    if (entries[i].length > kMaxRenderedEntry) {
      delta.text_sizes.push_back(static_cast<std::uint32_t>(too_long_size(entries[i].length)));
      continue;
    }
    const auto raw = window.value(i);
    if (!raw) {
      return raw.error();
    }
    add_entry(first + static_cast<Ordinal>(i), entries[i].type, *raw, delta);
  }
  return delta;
}

void LogDetails::apply(Delta delta) {
  text_sizes_.insert(text_sizes_.end(), delta.text_sizes.begin(), delta.text_sizes.end());
  images_.insert(images_.end(), std::make_move_iterator(delta.images.begin()),
                 std::make_move_iterator(delta.images.end()));
  usage_ = std::move(delta.usage);
}

}  // namespace arborfs
