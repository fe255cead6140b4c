// How long ago a log must have been written for what is known of it to stand. Internal to core/session.
#pragma once

#include <cstdint>

namespace arborfs {

inline constexpr std::int64_t kNanosPerMilli = 1'000'000;
/// Coarser than any file system's clock tick in use: a log read this soon after its mtime may change without a trace.
inline constexpr std::int64_t kRacyNanos = 50 * kNanosPerMilli;
/// An unterminated end that is older than this is damage, and nobody's write in progress.
inline constexpr std::int64_t kTailAgeNanos = 2000 * kNanosPerMilli;

/// Less than `age` has gone by since then. A time in the future says nothing of an age: a clock was wrong, or somebody
/// set it. But for a little, by which the clock of another machine may be ahead.
constexpr bool is_younger(std::int64_t mtime_ns, std::int64_t now_ns, std::int64_t age) {
  return mtime_ns > now_ns - age && mtime_ns < now_ns + kTailAgeNanos;
}

}  // namespace arborfs
