#include "fs/fuse/events_text.h"

#include <algorithm>
#include <utility>

namespace arborfs {

namespace {

constexpr std::size_t kChangesARead = 64;

}  // namespace

std::string missed_line(std::uint64_t count) {
  return "{\"event\":\"missed\",\"count\":" + std::to_string(count) + "}\n";
}

void EventsText::take_in() {
  for (bool has_more = true; has_more;) {
    std::uint64_t missed = 0;
    const auto changes = feed_.after(taken_, kChangesARead, &missed);
    if (missed != 0) {
      add(missed_line(missed), taken_ + 1, taken_ + missed);
    }
    for (const auto& change : changes) {
      add(change_line(change), change.sequence, change.sequence);
    }
    has_more = changes.size() == kChangesARead;
  }
}

void EventsText::add(std::string text, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t end = end_ + text.size();
  lines_.push_back({end, first, last, std::move(text)});
  end_ = end;
  taken_ = last;
  if (lines_.size() > kMostLines) {
    lines_.pop_front();
  }
}

std::uint64_t EventsText::begin() const {
  return lines_.empty() ? end_ : lines_.front().end - lines_.front().text.size();
}

std::uint64_t EventsText::first_change() const {
  return lines_.empty() ? taken_ + 1 : lines_.front().first;
}

/// The first line that ends after a position.
EventsText::Lines::const_iterator EventsText::line_at(std::uint64_t position) const {
  return std::upper_bound(lines_.begin(), lines_.end(), position,
                          [](std::uint64_t wanted, const Line& line) { return wanted < line.end; });
}

std::uint64_t EventsText::last_change_until(std::uint64_t position) const {
  const auto behind = line_at(position);
  return behind == lines_.begin() ? 0 : std::prev(behind)->last;
}

std::string EventsText::read(std::uint64_t position, std::size_t size) const {
  if (position < begin()) {
    return std::string(std::min<std::uint64_t>(size, begin() - position), '\n');
  }
  std::string bytes;
  for (auto line = line_at(position); line != lines_.end() && bytes.size() < size; ++line) {
    const std::uint64_t skipped = position + bytes.size() - (line->end - line->text.size());
    bytes.append(line->text, skipped, size - bytes.size());
  }
  return bytes;
}

}  // namespace arborfs
