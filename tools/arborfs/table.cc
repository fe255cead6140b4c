#include "tools/arborfs/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "core/base/clock.h"
#include "core/base/columns.h"

namespace arborfs::cli {

std::string size_words(std::uint64_t bytes) {
  if (bytes < 1024) {
    return std::to_string(bytes);
  }
  auto value = static_cast<double>(bytes);
  const std::string_view units = "KMGTP";
  std::size_t unit = 0;
  for (value /= 1024; value >= 1023.5 && unit + 1 < units.size(); ++unit) {
    value /= 1024;
  }
  return fmt::format("{:.{}f}{}", value, value < 9.95 ? 1 : 0, units[unit]);
}

std::string time_words(std::int64_t nanoseconds) {
  const std::string time = local_time(nanoseconds / 1'000'000, "%Y-%m-%d %H:%M");
  return time.empty() ? "?" : time;
}

std::string age_words(std::int64_t nanoseconds, std::int64_t now_ns) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  const std::int64_t seconds = (now_ns - nanoseconds) / 1'000'000'000;
  if (nanoseconds > now_ns || seconds >= 14 * kDay) {
    return time_words(nanoseconds);
  }
  return seconds < kMinute ? "just now"
         : seconds < kHour ? std::to_string(seconds / kMinute) + " min ago"
         : seconds < kDay  ? std::to_string(seconds / kHour) + " h ago"
                           : std::to_string(seconds / kDay) + " d ago";
}

std::vector<std::size_t> Table::widths(std::size_t width) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = columns_of(columns_[i].heading);
    for (const auto& row : rows_) {
      widest = std::max(widest, columns_of(row[i]));
    }
    widths.push_back(widest);
  }
  while (width > 0 && sum_of(widths) > width) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (columns_[i].flexible && widths[i] > kLeast && (widest == nullptr || widths[i] > *widest)) {
        widest = &widths[i];
      }
    }
    if (widest == nullptr) {
      break;
    }
    --*widest;
  }
  return widths;
}

std::size_t Table::sum_of(const std::vector<std::size_t>& widths) {
  return widths.empty() ? 0 : std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
}

std::string Table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = cut_middle(cells[i], widths[i]);
    const std::string padding(widths[i] - std::min(widths[i], columns_of(cell)), ' ');
    text += (i == 0 ? "" : std::string(kGap, ' ')) + (columns_[i].right ? padding + cell : cell + padding);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

bool Table::is_tight(std::size_t width) const {
  const auto whole = widths(0);
  const auto fitted = widths(width);
  bool is_tight = width > 0 && sum_of(fitted) > width;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    is_tight = is_tight || (columns_[i].flexible && fitted[i] < std::min(whole[i], columns_[i].roomy));
  }
  return is_tight;
}

std::optional<std::size_t> Table::least_useful() const {
  std::optional<std::size_t> least;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].dropped > 0 && (!least || columns_[i].dropped < columns_[*least].dropped)) {
      least = i;
    }
  }
  return least;
}

Table Table::without(std::size_t column) const {
  const auto kept = [column](auto cells) {
    cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(column));
    return cells;
  };
  Table few(kept(columns_));
  std::transform(rows_.begin(), rows_.end(), std::back_inserter(few.rows_), kept);
  return few;
}

std::vector<std::string> Table::lines(std::size_t width) const {
  if (const auto least = least_useful(); least && is_tight(width)) {
    return without(*least).lines(width);
  }
  const auto fitted = widths(width);
  std::vector<std::string> headings;
  for (const auto& column : columns_) {
    headings.push_back(column.heading);
  }
  std::vector<std::string> lines{line(headings, fitted)};
  for (const auto& row : rows_) {
    lines.push_back(line(row, fitted));
  }
  for (std::string& one : lines) {
    one = width == 0 ? one : cut(one, width);
  }
  return lines;
}

}  // namespace arborfs::cli
