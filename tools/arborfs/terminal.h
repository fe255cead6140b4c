// The command line program's surroundings: three streams, what they are connected to, and the environment. A test can
// supply its own.
#pragma once

#include <cstddef>
#include <functional>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace arborfs::cli {

/// When output is coloured.
enum class Colour { by_terminal, always, never };

struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  std::size_t width = 80;  // columns of `out`; meaningless if that is no terminal
  /// The value of an environment variable; not set if there is none.
  std::function<std::optional<std::string>(const char* name)> env;
  std::istream* in = nullptr;  // null for none
  bool in_is_terminal = false;
  bool json_errors = false;  // --json was given: errors are printed as JSON too
  Colour colour = Colour::by_terminal;
  int out_fd = -1;  // the descriptor that `out` writes to; -1 if it writes elsewhere, and no pager can show it

  /// True if `out` is to be coloured: by default on a terminal that is not dumb, without NO_COLOR.
  [[nodiscard]] bool has_colour() const;
};

/// The real terminal: std::cin, std::cout and std::cerr of this process.
Terminal system_terminal();

/// Where the terminal has 256 colours, the styles' are dark enough for a light background and light enough for a dark
/// one: the first eight are what a theme makes of them, and yellow on white cannot be read.
enum class Style { plain, bold, dim, red, green, yellow, cyan, mark };
/// What goes before and after a text in that style; both empty if the terminal has none.
struct StyleCodes {
  std::string on;
  std::string off;
};
StyleCodes codes_of(const Terminal& io, Style style);
/// `text` in one of the terminal's styles; unchanged if it has none.
std::string styled(const Terminal& io, Style style, const std::string& text);
/// The same for each line of a text. `style_of` sees the lines in their order. On a terminal, comments (`# `) are
/// broken at spaces into comments that fit.
std::string styled_lines(const Terminal& io, std::string_view text,
                         const std::function<Style(std::string_view)>& style_of);

/// Prints the lines of a table, of which the first is the heading.
void print_with_heading(const std::vector<std::string>& lines, Terminal& io);

}  // namespace arborfs::cli
