// How long ago a log must have been written for facts about it to be reliable.
#pragma once

#include <cstdint>

namespace arborfs {

inline constexpr std::int64_t kNanosPerMilli = 1'000'000;
/// Coarser than the clock tick of any file system in use: a log read this soon after its mtime may change unnoticed.
inline constexpr std::int64_t kRacyNanos = 50 * kNanosPerMilli;
/// An unterminated end that is older than this is damage, not a write in progress.
inline constexpr std::int64_t kTailAgeNanos = 2000 * kNanosPerMilli;

/// True if less than `age` has passed since `mtime_ns`. A time in the future gives no age: a clock was wrong, or a
/// program set it. Exception: a time less than kTailAgeNanos ahead, because another machine's clock may be ahead by
/// that much.
constexpr bool is_younger(std::int64_t mtime_ns, std::int64_t now_ns, std::int64_t age) {
  return mtime_ns > now_ns - age && mtime_ns < now_ns + kTailAgeNanos;
}

}  // namespace arborfs
