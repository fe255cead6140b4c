// Lays Markdown out for a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry/text.h"
#include "tools/arborfs/terminal.h"

namespace arborfs::cli {

/// Colours headings, quotations and the fences around code in a text whose pieces may be cut anywhere, if `io` has
/// colours, and breaks lines outside of code at spaces, so that they take at most `width` columns (0: no limit). Used
/// by one thread.
class MarkdownLayout {
 public:
  MarkdownLayout(const Terminal& io, std::size_t width) : io_(io), width_(width) {}
  /// Appends the lines that are complete to `out`.
  void feed(std::string_view piece, std::string& out);
  /// Appends the rest of a line that was cut, if any.
  void finish(std::string& out);

 private:
  [[nodiscard]] Style style_of(std::string_view line);
  void add(std::string_view line, std::string& out);
  [[nodiscard]] std::vector<std::string> broken(std::string_view line) const;
  const Terminal& io_;
  std::size_t width_;
  std::string held_;
  std::optional<CodeFence> fence_;  // of the code that the next line is in; its info is not kept
};

}  // namespace arborfs::cli
