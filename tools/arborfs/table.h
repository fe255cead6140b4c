// Formats numbers, times and columns for display. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/columns.h"
#include "core/base/words.h"

namespace arborfs::cli {

/// 812, 12K, 3.4M, 1.2G: powers of 1024, as ls -h prints them.
std::string size_words(std::uint64_t bytes);
/// Local time: 2026-02-16 10:20.
std::string time_words(std::int64_t nanoseconds);

/// How long ago that was: just now, 5 min ago, 2 h ago, 13 d ago. Earlier times and later ones: as time_words.
std::string age_words(std::int64_t nanoseconds, std::int64_t now_ns);

/// Rows under a heading, columns as wide as their widest cell.
class Table {
 public:
  struct Column {
    std::string heading;
    bool right = false;     // numbers
    bool flexible = false;  // is cut in the middle if the rows do not fit
    int dropped = 0;        // columns are left out in this order, from 1, while the rows do not fit or the flexible
                            // ones are not roomy; 0: never
    std::size_t roomy = 20;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Lines of at most `width` columns (0: no limit), heading first, each without its newline. Flexible columns are cut,
  /// the widest first, none below kLeast; what still does not fit is cut off.
  [[nodiscard]] std::vector<std::string> lines(std::size_t width) const;

 private:
  static constexpr std::size_t kLeast = 8;
  static constexpr std::size_t kGap = 2;
  [[nodiscard]] std::vector<std::size_t> widths(std::size_t width) const;
  [[nodiscard]] bool is_tight(std::size_t width) const;
  static std::size_t sum_of(const std::vector<std::size_t>& widths);
  [[nodiscard]] std::optional<std::size_t> least_useful() const;
  [[nodiscard]] Table without(std::size_t column) const;
  [[nodiscard]] std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace arborfs::cli
