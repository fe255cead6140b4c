#include "core/session/content_fingerprint.h"

#include <algorithm>
#include <string>

#include "core/base/hash.h"
#include "core/base/result_macros.h"

namespace arborfs {

namespace {

constexpr std::uint64_t kAtEitherEnd = std::uint64_t{4} << 10U;
constexpr std::uint64_t kPiece = std::uint64_t{64} << 10U;

}  // namespace

ContentFingerprint::ContentFingerprint(std::uint64_t slot, std::uint64_t size, bool is_of_all)
    : slot_(std::min(slot, size)), size_(size), is_of_all_(is_of_all), hash_(size) {}

/// Adds the bytes from `from` to `to`, as far as the log has them.
Result<void> ContentFingerprint::add(const LogSource& log, std::uint64_t from, std::uint64_t to) {
  std::string bytes;
  while (from < to) {
    bytes.resize(std::min(to - from, kPiece));
    ASSIGN_OR_RETURN(const auto got, log.read_raw_at(from, bytes));
    bytes.resize(got);
    hash_ = xxh64(bytes, hash_);
    from += got;
    if (got == 0) {
      break;
    }
  }
  return {};
}

Result<ContentFingerprint> ContentFingerprint::make(const LogSource& log, std::uint64_t slot, std::uint64_t size,
                                                    bool is_of_all) {
  ContentFingerprint mark(slot, size, is_of_all);
  if (is_of_all) {
    RETURN_IF_ERROR(mark.add(log, mark.slot_, size));
    return mark;
  }
  RETURN_IF_ERROR(mark.add(log, mark.slot_, std::min(size, mark.slot_ + kAtEitherEnd)));
  RETURN_IF_ERROR(mark.add(log, std::max(mark.slot_, size - std::min(size, kAtEitherEnd)), size));
  return mark;
}

Result<ContentFingerprint> ContentFingerprint::of(const LogSource& log, std::uint64_t slot, std::uint64_t size) {
  return make(log, slot, size, false);
}

Result<ContentFingerprint> ContentFingerprint::of_all(const LogSource& log, std::uint64_t slot, std::uint64_t size) {
  return make(log, slot, size, true);
}

Result<bool> ContentFingerprint::is_of(const LogSource& log) const {
  ASSIGN_OR_RETURN(const auto now, make(log, slot_, size_, is_of_all_));
  return now.hash_ == hash_;
}

bool is_still_of(const std::optional<ContentFingerprint>& mark, const LogSource& log) {
  const auto same = mark ? mark->is_of(log) : Result<bool>(false);
  return same && *same;
}

}  // namespace arborfs
