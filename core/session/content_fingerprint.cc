#include "core/session/content_fingerprint.h"

#include <algorithm>
#include <string>

#include "core/base/hash.h"
#include "core/base/result_macros.h"

namespace arborfs {

namespace {

constexpr std::uint64_t kHashed = ContentFingerprint::kWhole / 2;  // bytes at either end

/// Hashes at most kHashed bytes from `from` on, as far as the log has them.
Result<std::uint64_t> hash_of(const LogSource& log, std::uint64_t from, std::uint64_t to, std::uint64_t seed) {
  std::string bytes(std::min(to - from, kHashed), '\0');
  ASSIGN_OR_RETURN(auto got, log.read_raw_at(from, bytes));
  bytes.resize(got);
  return xxh64(bytes, seed);
}

}  // namespace

Result<ContentFingerprint> ContentFingerprint::of(const LogSource& log, std::uint64_t slot, std::uint64_t size) {
  ContentFingerprint mark;
  mark.size_ = size;
  mark.slot_ = std::min(slot, size);
  ASSIGN_OR_RETURN(const auto first, hash_of(log, mark.slot_, size, size));
  ASSIGN_OR_RETURN(mark.hash_, hash_of(log, std::max(mark.slot_, size - std::min(size, kHashed)), size, first));
  return mark;
}

Result<bool> ContentFingerprint::is_of(const LogSource& log) const {
  ASSIGN_OR_RETURN(const auto now, of(log, slot_, size_));
  return now.hash_ == hash_;
}

bool is_still_of(const std::optional<ContentFingerprint>& mark, const LogSource& log) {
  const auto same = mark ? mark->is_of(log) : Result<bool>(false);
  return same && *same;
}

}  // namespace arborfs
