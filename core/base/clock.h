// Wall-clock time, as used in logs and file times. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace arborfs {

/// Nanoseconds since 1970, UTC.
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}
/// Milliseconds since 1970, UTC.
inline std::int64_t now_ms() {
  return now_ns() / 1'000'000;
}
/// The local time of so many milliseconds since 1970, as strftime(3) prints it, in at most 63 bytes; "" if the
/// calendar does not reach so far.
std::string local_time(std::int64_t time_ms, const char* format);

}  // namespace arborfs
