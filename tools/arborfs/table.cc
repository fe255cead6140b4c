#include "tools/arborfs/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <type_traits>

#include "core/base/clock.h"

namespace arborfs::cli {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Blocks that terminals draw two columns wide, and those drawn over the previous character.
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x231a, 0x231b},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},
                           {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                           {0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
                           {0x1fa70, 0x1faff}, {0x20000, 0x3fffd}};
constexpr Range kCombining[] = {{0x300, 0x36f}, {0x1ab0, 0x1aff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

template <std::size_t N>
bool is_in(const Range (&ranges)[N], std::uint32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [code](const Range& range) { return code >= range.first && code <= range.last; });
}

struct Character {
  std::size_t length;
  std::size_t columns;
};

Character next_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) {
    return {1, 1};
  }
  const std::size_t wanted = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  const std::size_t length = std::min(wanted, text.size());
  std::uint32_t code = wanted == 1 ? first : first & (0x7fU >> wanted);
  for (std::size_t i = 1; i < length; ++i) {
    code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  return {length, is_in(kCombining, code) ? 0U : is_in(kWide, code) ? 2U : 1U};
}

}  // namespace

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

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character character = next_character(text);
    columns += character.columns;
    text.remove_prefix(character.length);
  }
  return columns;
}

std::string cut(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) {
    return std::string(text);
  }
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const Character character = next_character(text.substr(at));
    if (used + character.columns + 1 > columns) {
      break;
    }
    used += character.columns;
    at += character.length;
  }
  return std::string(text.substr(0, at)) + "…";
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
  const std::size_t gaps = kGap * (columns_.size() - 1);
  while (width > 0 && std::accumulate(widths.begin(), widths.end(), gaps) > width) {
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

std::string Table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = cut(cells[i], widths[i]);
    const std::string padding(widths[i] - std::min(widths[i], columns_of(cell)), ' ');
    text += (i == 0 ? "" : std::string(kGap, ' ')) + (columns_[i].right ? padding + cell : cell + padding);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

bool Table::is_tight(std::size_t width) const {
  const auto whole = widths(0);
  const auto fitted = widths(width);
  bool is_tight = false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    is_tight = is_tight || (columns_[i].flexible && fitted[i] < std::min(whole[i], kRoomy));
  }
  return is_tight;
}

Table Table::without_optional() const {
  const auto kept = [this](const auto& cells) {
    std::decay_t<decltype(cells)> few;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i].optional) {
        few.push_back(cells[i]);
      }
    }
    return few;
  };
  Table few(kept(columns_));
  std::transform(rows_.begin(), rows_.end(), std::back_inserter(few.rows_), kept);
  return few;
}

std::vector<std::string> Table::lines(std::size_t width) const {
  const bool has_optional =
      std::any_of(columns_.begin(), columns_.end(), [](const Column& one) { return one.optional; });
  if (has_optional && is_tight(width)) {
    return without_optional().lines(width);
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
  return lines;
}

}  // namespace arborfs::cli
