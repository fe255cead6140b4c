#include "tools/arborfs/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace arborfs::cli {
namespace {

std::optional<std::string> process_env(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::size_t columns_of(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

const char* code_of(Style style) {
  switch (style) {
    case Style::bold:
      return "1";
    case Style::dim:
      return "2";
    case Style::red:
      return "31";
    case Style::green:
      return "32";
    case Style::yellow:
      return "33";
    case Style::cyan:
      return "36";
    case Style::plain:
      break;
  }
  return "0";
}

}  // namespace

bool Terminal::has_colour() const {
  if (colour != Colour::by_terminal || !out_is_terminal || !env) {
    return colour == Colour::always;
  }
  const auto no_color = env("NO_COLOR");
  return (!no_color || no_color->empty()) && env("TERM").value_or("") != "dumb";
}

Terminal system_terminal() {
  return Terminal{.out = std::cout,
                  .err = std::cerr,
                  .out_is_terminal = ::isatty(STDOUT_FILENO) != 0,
                  .err_is_terminal = ::isatty(STDERR_FILENO) != 0,
                  .width = columns_of(STDOUT_FILENO),
                  .env = process_env,
                  .in = &std::cin,
                  .in_is_terminal = ::isatty(STDIN_FILENO) != 0,
                  .out_fd = STDOUT_FILENO};
}

std::string styled(const Terminal& io, Style style, const std::string& text) {
  if (style == Style::plain || !io.has_colour()) {
    return text;
  }
  return std::string("\x1b[") + code_of(style) + "m" + text + "\x1b[0m";
}

}  // namespace arborfs::cli
