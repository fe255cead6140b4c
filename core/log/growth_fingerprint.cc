#include "core/log/growth_fingerprint.h"

#include <algorithm>

#include "core/base/hash.h"
#include "core/base/result_macros.h"

namespace arborfs {

namespace {

constexpr std::uint64_t kHeadChecked = 4096;
constexpr std::uint64_t kTailChecked = 256;

Result<std::uint64_t> hash_range(LogWindow& window, std::uint64_t from, std::uint64_t to) {
  const auto size = static_cast<std::size_t>(to - from);
  if (size == 0) {
    return xxh64({});
  }
  ASSIGN_OR_RETURN(auto text, window.view(from, size));
  return xxh64(text.substr(0, size));
}

}  // namespace

Result<GrowthFingerprint> GrowthFingerprint::of(LogWindow& window, std::uint64_t slot_end, std::uint64_t resume) {
  GrowthFingerprint made;
  made.head_end = std::min(resume, slot_end + kHeadChecked);
  made.tail_from = std::max(slot_end, resume > kTailChecked ? resume - kTailChecked : 0);
  // Hash the tail first: the window still holds it.
  ASSIGN_OR_RETURN(made.tail, hash_range(window, made.tail_from, resume));
  ASSIGN_OR_RETURN(made.slot, hash_range(window, 0, slot_end));
  ASSIGN_OR_RETURN(made.head, hash_range(window, slot_end, made.head_end));
  return made;
}

Result<GrowthFingerprint> GrowthFingerprint::after_growth(LogWindow& window, std::uint64_t slot_end,
                                                          std::uint64_t resume) const {
  GrowthFingerprint made = *this;
  if (head_end != slot_end + kHeadChecked) {
    ASSIGN_OR_RETURN(made, of(window, slot_end, resume));
    made.slot = slot;
    return made;
  }
  made.tail_from = std::max(slot_end, resume > kTailChecked ? resume - kTailChecked : 0);
  ASSIGN_OR_RETURN(made.tail, hash_range(window, made.tail_from, resume));
  return made;
}

}  // namespace arborfs
