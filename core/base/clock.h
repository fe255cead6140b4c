// Wall-clock time, as used in logs and file times. Any thread.
#pragma once

#include <chrono>
#include <cstdint>

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

}  // namespace arborfs
