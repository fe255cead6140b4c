#include "core/entry/unified_diff.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace arborfs {
namespace {

constexpr std::size_t kContext = 3;          // unchanged lines around a change
constexpr std::ptrdiff_t kMostEdits = 1000;  // the memory for finding them grows with the square

using Lines = std::vector<std::string_view>;  // each with its line feed, which the last one may lack
using Numbers = std::vector<std::uint32_t>;   // equal lines have equal numbers

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

/// A stretch of lines that differs: [begin, end) of both texts.
struct Change {
  std::size_t before_begin;
  std::size_t before_end;
  std::size_t after_begin;
  std::size_t after_end;
};

/// The lines that the two texts do not have in common.
struct Marks {
  std::vector<bool> removed;
  std::vector<bool> added;
};

/// Finds the fewest edits between two ranges of lines: E. Myers, "An O(ND) difference algorithm", 1986.
class EditFinder {
 public:
  EditFinder(const Numbers& before, const Numbers& after) : before_(before), after_(after) {}

  /// Marks the lines. False, with nothing marked, if that takes more than kMostEdits.
  bool mark(std::size_t before_begin, std::size_t before_end, std::size_t after_begin, std::size_t after_end,
            Marks& marks) {
    before_begin_ = before_begin;
    after_begin_ = after_begin;
    const auto rows = static_cast<std::ptrdiff_t>(before_end - before_begin);
    const auto columns = static_cast<std::ptrdiff_t>(after_end - after_begin);
    furthest_.assign(static_cast<std::size_t>(2 * kMostEdits + 3), 0);
    for (std::ptrdiff_t edits = 0; edits <= std::min(kMostEdits, rows + columns); ++edits) {
      steps_.push_back(furthest_);
      for (std::ptrdiff_t diagonal = -edits; diagonal <= edits; diagonal += 2) {
        const std::ptrdiff_t row = follow(diagonal, start_row(furthest_, diagonal, edits), rows, columns);
        at(furthest_, diagonal) = static_cast<std::int32_t>(row);
        if (row >= rows && row - diagonal >= columns) {
          trace_back(rows, columns, edits, marks);
          return true;
        }
      }
    }
    return false;
  }

 private:
  using Row = std::vector<std::int32_t>;  // by diagonal: the furthest line of the text before

  static std::int32_t& at(Row& row, std::ptrdiff_t diagonal) {
    return row[static_cast<std::size_t>(diagonal + kMostEdits + 1)];
  }

  static bool comes_from_above(Row& furthest, std::ptrdiff_t diagonal, std::ptrdiff_t edits) {
    return diagonal == -edits || (diagonal != edits && at(furthest, diagonal - 1) < at(furthest, diagonal + 1));
  }

  static std::ptrdiff_t start_row(Row& furthest, std::ptrdiff_t diagonal, std::ptrdiff_t edits) {
    if (edits == 0) {
      return 0;
    }
    return comes_from_above(furthest, diagonal, edits) ? at(furthest, diagonal + 1) : at(furthest, diagonal - 1) + 1;
  }

  [[nodiscard]] std::ptrdiff_t follow(std::ptrdiff_t diagonal, std::ptrdiff_t row, std::ptrdiff_t rows,
                                      std::ptrdiff_t columns) const {
    while (row < rows && row - diagonal < columns && row - diagonal >= 0 &&
           before_[before_begin_ + static_cast<std::size_t>(row)] ==
               after_[after_begin_ + static_cast<std::size_t>(row - diagonal)]) {
      ++row;
    }
    return row;
  }

  void trace_back(std::ptrdiff_t row, std::ptrdiff_t column, std::ptrdiff_t edits, Marks& marks) {
    for (; edits > 0; --edits) {
      Row& furthest = steps_[static_cast<std::size_t>(edits)];
      const std::ptrdiff_t diagonal = row - column;
      const bool is_added = comes_from_above(furthest, diagonal, edits);
      const std::ptrdiff_t from = is_added ? diagonal + 1 : diagonal - 1;
      row = at(furthest, from);
      column = row - from;
      if (is_added) {
        marks.added[after_begin_ + static_cast<std::size_t>(column)] = true;
      } else {
        marks.removed[before_begin_ + static_cast<std::size_t>(row)] = true;
      }
    }
  }

  const Numbers& before_;
  const Numbers& after_;
  std::size_t before_begin_ = 0;
  std::size_t after_begin_ = 0;
  Row furthest_;
  std::vector<Row> steps_;  // `furthest_` before each number of edits
};

Marks compare(const Lines& before, const Lines& after) {
  std::unordered_map<std::string_view, std::uint32_t> known;
  const auto numbers_of = [&known](const Lines& lines) {
    Numbers numbers;
    numbers.reserve(lines.size());
    for (const std::string_view line : lines) {
      numbers.push_back(known.emplace(line, static_cast<std::uint32_t>(known.size())).first->second);
    }
    return numbers;
  };
  const Numbers old_lines = numbers_of(before);
  const Numbers new_lines = numbers_of(after);
  Marks marks{std::vector<bool>(before.size()), std::vector<bool>(after.size())};
  const auto first = std::mismatch(old_lines.begin(), old_lines.end(), new_lines.begin(), new_lines.end());
  const auto begin = static_cast<std::size_t>(first.first - old_lines.begin());
  std::size_t old_end = old_lines.size();
  std::size_t new_end = new_lines.size();
  while (old_end > begin && new_end > begin && old_lines[old_end - 1] == new_lines[new_end - 1]) {
    --old_end;
    --new_end;
  }
  EditFinder finder(old_lines, new_lines);
  if (!finder.mark(begin, old_end, begin, new_end, marks)) {
    std::fill(marks.removed.begin() + static_cast<std::ptrdiff_t>(begin),
              marks.removed.begin() + static_cast<std::ptrdiff_t>(old_end), true);
    std::fill(marks.added.begin() + static_cast<std::ptrdiff_t>(begin),
              marks.added.begin() + static_cast<std::ptrdiff_t>(new_end), true);
  }
  return marks;
}

std::vector<Change> changes_of(const Marks& marks) {
  std::vector<Change> changes;
  std::size_t before = 0;
  std::size_t after = 0;
  while (before < marks.removed.size() || after < marks.added.size()) {
    const Change change{before,
                        static_cast<std::size_t>(std::find(marks.removed.begin() + static_cast<std::ptrdiff_t>(before),
                                                           marks.removed.end(), false) -
                                                 marks.removed.begin()),
                        after,
                        static_cast<std::size_t>(std::find(marks.added.begin() + static_cast<std::ptrdiff_t>(after),
                                                           marks.added.end(), false) -
                                                 marks.added.begin())};
    if (change.before_end > before || change.after_end > after) {
      changes.push_back(change);
    }
    before = change.before_end + 1;
    after = change.after_end + 1;
  }
  return changes;
}

void add_line(std::string& out, char sign, std::string_view line) {
  out += sign;
  out += line;
  if (!line.ends_with('\n')) {
    out += "\n\\ No newline at end of file\n";
  }
}

std::string range_of(std::size_t begin, std::size_t end) {
  return std::to_string(begin == end ? begin : begin + 1) + "," + std::to_string(end - begin);
}

/// Writes the changes [first, last), which are close to each other, as one hunk.
void add_hunk(std::string& out, const Lines& before, const Lines& after, const Change* first, const Change* last) {
  const std::size_t lead = std::min(kContext, first->before_begin);
  const std::size_t tail = std::min(kContext, before.size() - (last - 1)->before_end);
  out += "@@ -" + range_of(first->before_begin - lead, (last - 1)->before_end + tail) + " +" +
         range_of(first->after_begin - lead, (last - 1)->after_end + tail) + " @@\n";
  std::size_t next = first->before_begin - lead;
  for (const Change* change = first; change != last; ++change) {
    for (; next < change->before_begin; ++next) {
      add_line(out, ' ', before[next]);
    }
    for (; next < change->before_end; ++next) {
      add_line(out, '-', before[next]);
    }
    for (std::size_t line = change->after_begin; line < change->after_end; ++line) {
      add_line(out, '+', after[line]);
    }
  }
  for (const std::size_t end = next + tail; next < end; ++next) {
    add_line(out, ' ', before[next]);
  }
}

std::string header_of(const DiffNames& names) {
  std::string out = "--- ";
  out += names.before.empty() ? "/dev/null" : names.before;
  out += "\n+++ ";
  out += names.after.empty() ? "/dev/null" : names.after;
  return out + "\n";
}

bool is_binary(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

}  // namespace

std::string unified_diff(const DiffNames& names, std::string_view before, std::string_view after) {
  if (before == after) {
    return "";
  }
  std::string out = header_of(names);
  if (is_binary(before) || is_binary(after)) {
    return out + "Binary files differ\n";
  }
  const Lines old_lines = lines_of(before);
  const Lines new_lines = lines_of(after);
  const std::vector<Change> changes = changes_of(compare(old_lines, new_lines));
  for (std::size_t first = 0; first < changes.size();) {
    std::size_t last = first + 1;
    while (last < changes.size() && changes[last].before_begin - changes[last - 1].before_end <= 2 * kContext) {
      ++last;
    }
    add_hunk(out, old_lines, new_lines, changes.data() + first, changes.data() + last);
    first = last;
  }
  return out;
}

}  // namespace arborfs
