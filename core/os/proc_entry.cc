#include "core/os/proc_entry.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>

namespace arborfs::proc {

namespace {

constexpr std::array<std::string_view, 3> kInterpreters = {"bun", "node", "nodejs"};
constexpr std::size_t kMostArguments = 64 * 1024;
constexpr std::size_t kMostEnvironment = 256 * 1024;
constexpr std::size_t kMostStat = 1024;
constexpr std::string_view kDeleted = " (deleted)";

std::vector<std::string> split_at_nul(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

std::int64_t clock_ns(clockid_t clock) {
  struct timespec now {};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

UniqueFd open_process(int proc, long pid) {
  return UniqueFd(::openat(proc, std::to_string(pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

std::string link_target(int folder, const std::string& name) {
  std::array<char, PATH_MAX> target{};
  const ssize_t got = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  std::string text(target.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  if (text.ends_with(kDeleted)) {
    text.resize(text.size() - kDeleted.size());
  }
  return text;
}

std::string text_of(int folder, const std::string& name, std::size_t most) {
  const UniqueFd fd(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(fd ? most : 0, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + size, text.size() - size);
    if (got <= 0) {
      break;
    }
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

std::string comm_of(int process) {
  std::string comm = text_of(process, "comm", kMostStat);
  comm.resize(std::min(comm.size(), comm.find('\n')));
  return comm;
}

std::vector<std::string> arguments_of(int process) {
  return split_at_nul(text_of(process, "cmdline", kMostArguments));
}

std::map<std::string, std::string> environment_of(int process, std::span<const std::string_view> variables) {
  std::map<std::string, std::string> found;
  for (const std::string& text : split_at_nul(text_of(process, "environ", kMostEnvironment))) {
    const std::size_t equals = text.find('=');
    const std::string_view name = std::string_view(text).substr(0, equals);
    if (equals != std::string::npos && std::find(variables.begin(), variables.end(), name) != variables.end()) {
      found.emplace(name, text.substr(equals + 1));
    }
  }
  return found;
}

std::optional<std::uint64_t> start_ticks(int process) {
  constexpr int kFieldsBetween = 19;  // between the name's closing parenthesis and starttime
  const std::string stat = text_of(process, "stat", kMostStat);
  std::size_t at = stat.rfind(')');
  for (int field = 0; field <= kFieldsBetween && at != std::string::npos; ++field) {
    at = stat.find(' ', at + 1);
  }
  std::uint64_t ticks = 0;
  if (at == std::string::npos ||
      std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), ticks).ec != std::errc()) {
    return std::nullopt;
  }
  return ticks;
}

std::int64_t since_1970(std::uint64_t ticks) {
  static const std::int64_t a_tick = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) + static_cast<std::int64_t>(ticks) * a_tick;
}

std::string_view program_name(std::string_view file) {
  constexpr std::string_view kEnding = ".exe";
  constexpr std::string_view kWrapped = "-wrapped";
  if (file.ends_with(kEnding)) {
    file.remove_suffix(kEnding.size());
  }
  if (file.starts_with('.') && file.ends_with(kWrapped)) {
    file.remove_prefix(1);
    file.remove_suffix(kWrapped.size());
  }
  return file;
}

bool is_interpreter(std::string_view name) {
  const std::string_view program = program_name(name);
  const std::string_view plain = program.substr(0, program.find_first_of("-0123456789"));
  return std::find(kInterpreters.begin(), kInterpreters.end(), plain) != kInterpreters.end();
}

std::size_t find_script(const std::vector<std::string>& arguments) {
  constexpr std::array<std::string_view, 9> kWithValue = {
      "-r", "--require", "--import", "--loader", "--preload", "--env-file", "--cwd", "-C", "--conditions"};
  std::size_t at = 1;
  while (at < arguments.size()) {
    const std::string& word = arguments[at];
    if (std::find(kWithValue.begin(), kWithValue.end(), word) != kWithValue.end()) {
      at += 2;
    } else if (word.starts_with('-') || word == "run" || word == "x" || word == "exec") {
      ++at;
    } else {
      return at;
    }
  }
  return arguments.size();
}

std::string_view last_component(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace arborfs::proc
