// ARBORFS_SANITIZED is defined where a sanitizer checks the tests, which makes them slow and large.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ARBORFS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ARBORFS_SANITIZED 1
#endif
#endif

namespace arborfs::testing {

/// Tests over generated inputs make only one in so many where a sanitizer checks them.
#ifdef ARBORFS_SANITIZED
inline constexpr int kSanitizedShare = 10;
#else
inline constexpr int kSanitizedShare = 1;
#endif

}  // namespace arborfs::testing
