// Everything that the command line program knows of the world outside: three streams, what they are connected to, and
// the environment. The whole program runs against it, so that a test can be the terminal.
#pragma once

#include <cstddef>
#include <functional>
#include <istream>
#include <optional>
#include <ostream>
#include <string>

namespace arborfs::cli {

struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  std::size_t width = 80;  // columns of `out`; means nothing when that is no terminal
  /// The value of an environment variable; nothing when it is not set.
  std::function<std::optional<std::string>(const char* name)> env;
  std::istream* in = nullptr;  // null for none
  bool in_is_terminal = false;
  bool json_errors = false;  // the command line says --json: failures are told as JSON too

  /// Colours only reach people: never a pipe, never under NO_COLOR, never a dumb terminal.
  [[nodiscard]] bool has_colour() const;
};

/// The real one: std::cin, std::cout and std::cerr of this process.
Terminal system_terminal();

/// `text` in one of the terminal's styles; as it is where there are none.
enum class Style { plain, bold, dim, red, green, yellow };
std::string styled(const Terminal& io, Style style, const std::string& text);

}  // namespace arborfs::cli
