#include "fs/fuse/client_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/unique_fd.h"

namespace arborfs {

namespace {

constexpr std::uint64_t bit(int signal_number) {
  return std::uint64_t{1} << static_cast<unsigned>(signal_number - 1);
}

std::uint64_t mask_after(std::string_view status, std::string_view key) {
  const std::size_t at = status.find(key);
  if (at == std::string_view::npos) {
    return 0;
  }
  std::string_view digits = status.substr(at + key.size());
  digits.remove_prefix(std::min(digits.find_first_not_of(" \t"), digits.size()));
  std::uint64_t mask = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), mask, 16);
  return mask;
}

/// Pending signals of a thread or its process, and the signals that the thread blocks.
struct Signals {
  std::uint64_t pending = 0;
  std::uint64_t blocked = 0;
};

/// Empty if the thread is gone or cannot be seen from here. No signals if this process lacks descriptors or memory to
/// check: a client that is wrongly taken for gone would write again.
std::optional<Signals> signals_of(pid_t tid) {
  if (tid <= 0) {
    return std::nullopt;
  }
  const UniqueFd fd(::open(("/proc/" + std::to_string(tid) + "/status").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
    return Signals{};
  }
  std::array<char, 4096> buffer{};
  const ssize_t got = fd ? ::read(fd.get(), buffer.data(), buffer.size()) : -1;
  if (got <= 0) {
    return std::nullopt;
  }
  const std::string_view status(buffer.data(), static_cast<std::size_t>(got));
  return Signals{mask_after(status, "\nSigPnd:") | mask_after(status, "\nShdPnd:"), mask_after(status, "\nSigBlk:")};
}

}  // namespace

bool is_asked_to_stop(pid_t tid) {
  constexpr std::uint64_t kStops = bit(SIGINT) | bit(SIGTERM) | bit(SIGHUP) | bit(SIGQUIT);
  const auto signals = signals_of(tid);
  return !signals || (signals->pending & bit(SIGKILL)) != 0 || (signals->pending & kStops & ~signals->blocked) != 0;
}

bool is_killed(pid_t tid) {
  if (tid <= 0) {
    return false;
  }
  const auto signals = signals_of(tid);
  return !signals || (signals->pending & bit(SIGKILL)) != 0;
}

}  // namespace arborfs
