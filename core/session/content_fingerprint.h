// A fingerprint of a log's bytes, made of a few hashes: shows later whether the log still begins with them. Most logs
// are only appended to, or occasionally rewritten, so their first and last bytes are enough (CONTRACT.md 3.2). A title
// slot at its beginning is left out, because it is overwritten in place. A value; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "core/log/log_source.h"

namespace arborfs {

class ContentFingerprint {
 public:
  /// Of the first and last of the first `size` bytes on disk, without the first `slot`. Errors: io.
  static Result<ContentFingerprint> of(const LogSource& log, std::uint64_t slot, std::uint64_t size);
  /// Of all of these bytes, which costs a tenth of their index.
  static Result<ContentFingerprint> of_all(const LogSource& log, std::uint64_t slot, std::uint64_t size);
  /// True if the log has the same bytes there now. Errors: io.
  [[nodiscard]] Result<bool> is_of(const LogSource& log) const;

 private:
  ContentFingerprint(std::uint64_t slot, std::uint64_t size, bool is_of_all);
  Result<void> add(const LogSource& log, std::uint64_t from, std::uint64_t to);
  static Result<ContentFingerprint> make(const LogSource& log, std::uint64_t slot, std::uint64_t size, bool is_of_all);
  std::uint64_t slot_ = 0;
  std::uint64_t size_ = 0;
  bool is_of_all_ = false;
  std::uint64_t hash_ = 0;
};

/// False without a fingerprint, and on a read error.
bool is_still_of(const std::optional<ContentFingerprint>& mark, const LogSource& log);

}  // namespace arborfs
