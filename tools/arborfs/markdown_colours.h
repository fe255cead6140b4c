// Sets the parts of Markdown off on a terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/entry/text.h"
#include "tools/arborfs/terminal.h"

namespace arborfs::cli {

/// Colours headings, quotations and the fences around code in a text whose pieces may be cut anywhere. Used by one
/// thread.
class MarkdownColours {
 public:
  /// `io` must have colours.
  explicit MarkdownColours(const Terminal& io) : io_(io) {}
  /// Appends the lines that are complete to `out`.
  void feed(std::string_view piece, std::string& out);
  /// Appends the rest of a line that was cut, if any.
  void finish(std::string& out);

 private:
  [[nodiscard]] Style style_of(std::string_view line);
  void add(std::string_view line, std::string& out);
  const Terminal& io_;
  std::string held_;
  std::optional<CodeFence> fence_;  // of the code that the next line is in; its info is not kept
};

}  // namespace arborfs::cli
