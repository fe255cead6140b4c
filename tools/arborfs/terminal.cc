#include "tools/arborfs/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "core/base/columns.h"

namespace arborfs::cli {
namespace {

std::optional<std::string> process_env(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::size_t width_of(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool has_many_colours(const Terminal& io) {
  const auto value = [&io](const char* name) { return io.env ? io.env(name).value_or("") : ""; };
  return value("TERM").find("256color") != std::string::npos || !value("COLORTERM").empty();
}

std::string number_of(Style style, bool has_many) {
  switch (style) {
    case Style::bold:
      return "1";
    case Style::dim:
      return "2";
    case Style::red:
      return has_many ? "38;5;160" : "31";
    case Style::green:
      return has_many ? "38;5;28" : "32";
    case Style::yellow:
      return has_many ? "38;5;130" : "33";
    case Style::cyan:
      return has_many ? "38;5;31" : "36";
    case Style::mark:
      return "1;" + number_of(Style::red, has_many);
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
                  .width = width_of(STDOUT_FILENO),
                  .env = process_env,
                  .in = &std::cin,
                  .in_is_terminal = ::isatty(STDIN_FILENO) != 0,
                  .out_fd = STDOUT_FILENO};
}

StyleCodes codes_of(const Terminal& io, Style style) {
  if (style == Style::plain || !io.has_colour()) {
    return {};
  }
  return {"\x1b[" + number_of(style, has_many_colours(io)) + "m", "\x1b[0m"};
}

std::string styled(const Terminal& io, Style style, const std::string& text) {
  const StyleCodes codes = codes_of(io, style);
  return codes.on + text + codes.off;
}

std::string styled_lines(const Terminal& io, std::string_view text,
                         const std::function<Style(std::string_view)>& style_of) {
  constexpr std::string_view kComment = "# ";
  const std::size_t width = io.out_is_terminal ? io.width : 0;
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const Style style = style_of(line);
    const bool is_broken = width > kComment.size() && line.starts_with(kComment) && columns_of(line) > width;
    const auto parts = is_broken ? lines_of_columns(line.substr(kComment.size()), width - kComment.size())
                                 : std::vector<std::string>{std::string(line)};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string part = std::string(is_broken ? kComment : "") + parts[i];
      out += (i == 0 ? "" : "\n") + (part.empty() ? "" : styled(io, style, part));
    }
    text.remove_prefix(line.size());
    if (!text.empty()) {
      out += '\n';
      text.remove_prefix(1);
    }
  }
  return out;
}

void print_with_heading(const std::vector<std::string>& lines, Terminal& io) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    io.out << styled(io, i == 0 ? Style::bold : Style::plain, lines[i]) << "\n";
  }
}

}  // namespace arborfs::cli
