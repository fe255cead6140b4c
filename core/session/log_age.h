// How long ago a log must have been written for what is known of it to stand. Internal to core/session.
#pragma once

#include <cstdint>

namespace arborfs {

inline constexpr std::int64_t kNanosPerMilli = 1'000'000;
/// Coarser than any file system's clock tick in use: a log read this soon after its mtime may change without a trace.
inline constexpr std::int64_t kRacyNanos = 50 * kNanosPerMilli;
/// An unterminated end that is older than this is damage, and nobody's write in progress.
inline constexpr std::int64_t kTailAgeNanos = 2000 * kNanosPerMilli;

}  // namespace arborfs
