// A fingerprint of a log's bytes, made of a few hashes: shows later whether the log still begins with them. Logs are
// only appended to, or occasionally rewritten, so the first and last bytes are enough (CONTRACT.md 3.2). A title slot
// at its beginning is left out, because it is overwritten in place. A value; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "core/log/log_source.h"

namespace arborfs {

class ContentFingerprint {
 public:
  /// All bytes of a log up to this long are hashed, except for the slot.
  static constexpr std::uint64_t kWhole = std::uint64_t{8} << 10U;

  /// Of the first `size` bytes on disk, without the first `slot`. Errors: io.
  static Result<ContentFingerprint> of(const LogSource& log, std::uint64_t slot, std::uint64_t size);
  /// True if the log has the same bytes there now. Errors: io.
  [[nodiscard]] Result<bool> is_of(const LogSource& log) const;

 private:
  std::uint64_t slot_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t hash_ = 0;
};

/// False without a fingerprint, and on a read error.
bool is_still_of(const std::optional<ContentFingerprint>& mark, const LogSource& log);

}  // namespace arborfs
