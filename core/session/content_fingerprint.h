// What a log's bytes were, in a few hashes: tells later whether the log still begins with them. Of a log that is only
// appended to and now and then written anew, first and last bytes tell (CONTRACT.md 3.2); a title slot at its
// beginning, which is overwritten in place, is left out. A value; any thread.
#pragma once

#include <cstdint>

#include "core/log/log_file.h"

namespace arborfs {

class ContentFingerprint {
 public:
  /// A log up to this long is told by all of its bytes, when it has no slot.
  static constexpr std::uint64_t kWhole = std::uint64_t{8} << 10U;

  /// Of the first `size` bytes on disk, but for the first `slot`. Errors: io.
  static Result<ContentFingerprint> of(const LogFile& log, std::uint64_t slot, std::uint64_t size);
  /// The log has the same bytes there now. Errors: io.
  [[nodiscard]] Result<bool> is_of(const LogFile& log) const;

 private:
  std::uint64_t slot_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace arborfs
