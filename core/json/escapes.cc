#include "core/json/escapes.h"

namespace arborfs::json {

namespace {

constexpr std::size_t kAtOnce = 32;  // marks

}  // namespace

bool has_valid_escapes(std::string_view text) {
  std::array<std::uint64_t, kAtOnce> backslashes;
  std::array<std::uint64_t, kAtOnce> simple;
  EscapeWalk walk;
  for (std::size_t base = 0; base < text.size(); base += kAtOnce * kMarkedBytes) {
    const std::string_view piece = text.substr(base, kAtOnce * kMarkedBytes);
    mark(piece, '\\', backslashes.data());
    mark(piece, kSimpleEscapes, simple.data());
    for (std::size_t i = 0; i < marks_for(piece.size()); ++i) {
      std::uint64_t others = walk.escaped(backslashes[i]) & ~simple[i];
      for (; others != 0; others &= others - 1) {
        if (!is_escape(piece.data() + i * kMarkedBytes + std::countr_zero(others))) {
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace arborfs::json
