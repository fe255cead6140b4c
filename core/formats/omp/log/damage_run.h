// Measures a stretch of the log that the agents drop: finds the part of it that is not white space, and the NUL bytes
// at the ends of that part (omp/FORMAT.md A3 to A6). Bytes arrive in pieces. Used by one thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/log/log_index.h"

namespace arborfs {

class DamageRun {
 public:
  explicit DamageRun(std::uint64_t offset) : at_(offset) {}

  void feed(std::string_view piece);

  /// True if JavaScript's trim() would leave nothing: the agents do not count such a stretch.
  [[nodiscard]] bool is_blank() const { return blank_ && pending_length_ == 0; }

  /// The stretch without surrounding white space, with the NUL bytes at either end as separate runs.
  [[nodiscard]] std::vector<Damage> runs(Damage::Kind kind) const;

 private:
  void take(unsigned char byte);
  void take_ends(std::string_view piece);
  void judge_blank(unsigned char byte);

  std::uint64_t at_;
  // Offsets of the first byte that is not white space and of the end of the last one; then the same for bytes that are
  // neither white space nor NUL.
  std::uint64_t first_ = UINT64_MAX;
  std::uint64_t last_ = 0;
  std::uint64_t first_solid_ = UINT64_MAX;
  std::uint64_t last_solid_ = 0;
  bool blank_ = true;
  std::uint32_t pending_ = 0;  // the bytes so far of a character that may be white space
  int pending_length_ = 0;
};

}  // namespace arborfs
