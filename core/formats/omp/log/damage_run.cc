#include "core/formats/omp/log/damage_run.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace arborfs {

namespace {

bool is_json_space(unsigned char byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

// ECMAScript's white space beyond ASCII; `utf8` is the UTF-8 bytes as a big-endian number.
bool is_wide_space(std::uint32_t utf8) {
  constexpr std::array<std::uint32_t, 7> kOthers = {0xC2A0, 0xE19A80, 0xE280A8, 0xE280A9, 0xE280AF, 0xE2819F, 0xE38080};
  return (utf8 >= 0xE28080 && utf8 <= 0xE2808A) || utf8 == 0xEFBBBF ||
         std::find(kOthers.begin(), kOthers.end(), utf8) != kOthers.end();
}

// The length of the non-ASCII white space characters that start with `lead`; 0 if there are none.
int wide_space_length(unsigned char lead) {
  switch (lead) {
    case 0xC2:
      return 2;
    case 0xE1:
    case 0xE2:
    case 0xE3:
    case 0xEF:
      return 3;
    default:
      return 0;
  }
}

bool is_nul_or_space(unsigned char byte) {
  return byte == 0 || is_json_space(byte);
}

template <class Skipped>
std::size_t skip(std::string_view piece, Skipped is_skipped) {
  std::size_t at = 0;
  while (at < piece.size() && is_skipped(static_cast<unsigned char>(piece[at]))) {
    ++at;
  }
  return at;
}

template <class Skipped>
std::size_t end_without(std::string_view piece, Skipped is_skipped) {
  std::size_t end = piece.size();
  while (end > 0 && is_skipped(static_cast<unsigned char>(piece[end - 1]))) {
    --end;
  }
  return end;
}

// Skips NUL bytes and white space; skips NULs eight at a time, because there may be gigabytes of them.
std::size_t skip_nuls(std::string_view piece, std::size_t at) {
  for (;;) {
    std::uint64_t word = 0;
    while (piece.size() - at >= sizeof word && (std::memcpy(&word, piece.data() + at, sizeof word), word == 0)) {
      at += sizeof word;
    }
    if (at == piece.size() || !is_nul_or_space(static_cast<unsigned char>(piece[at]))) {
      return at;
    }
    ++at;
  }
}

}  // namespace

void DamageRun::feed(std::string_view piece) {
  while (!piece.empty() && blank_) {
    take(static_cast<unsigned char>(piece.front()));
    piece.remove_prefix(1);
    ++at_;
  }
  take_ends(piece);
  at_ += piece.size();
}

/// The same as take() for every byte, but reads only the ends of `piece`: nothing else matters in a nonblank stretch.
void DamageRun::take_ends(std::string_view piece) {
  const std::size_t first = skip(piece, is_json_space);
  if (first == piece.size()) {
    return;
  }
  first_ = std::min(first_, at_ + first);
  last_ = at_ + end_without(piece, is_json_space);
  const std::size_t solid = skip_nuls(piece, first);
  if (solid == piece.size()) {
    return;
  }
  first_solid_ = std::min(first_solid_, at_ + solid);
  last_solid_ = at_ + end_without(piece, is_nul_or_space);
}

void DamageRun::take(unsigned char byte) {
  if (blank_) {
    judge_blank(byte);
  }
  if (is_json_space(byte)) {
    return;
  }
  first_ = std::min(first_, at_);
  last_ = at_ + 1;
  if (byte != 0) {
    first_solid_ = std::min(first_solid_, at_);
    last_solid_ = at_ + 1;
  }
}

void DamageRun::judge_blank(unsigned char byte) {
  if (pending_length_ == 0) {
    pending_ = byte;
    pending_length_ = wide_space_length(byte);
    blank_ = pending_length_ != 0 || is_json_space(byte) || byte == '\v' || byte == '\f';
    pending_length_ = pending_length_ == 0 ? 0 : pending_length_ - 1;
    return;
  }
  pending_ = pending_ << 8 | byte;
  if (--pending_length_ == 0) {
    blank_ = is_wide_space(pending_);
  }
}

std::vector<Damage> DamageRun::runs(Damage::Kind kind) const {
  std::vector<Damage> found;
  if (first_ == UINT64_MAX) {
    return found;
  }
  if (first_solid_ == UINT64_MAX) {
    found.push_back({first_, last_ - first_, Damage::Kind::nul, false});
    return found;
  }
  if (first_ < first_solid_) {
    found.push_back({first_, first_solid_ - first_, Damage::Kind::nul, false});
  }
  found.push_back({first_solid_, last_solid_ - first_solid_, kind, false});
  if (last_solid_ < last_) {
    found.push_back({last_solid_, last_ - last_solid_, Damage::Kind::nul, false});
  }
  return found;
}

}  // namespace arborfs
