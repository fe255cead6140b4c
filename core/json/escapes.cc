#include "core/json/escapes.h"

#include <array>

namespace arborfs::json {

namespace {

constexpr ByteSets kSets("\\", "\"/bfnrt");
static_assert(has_same_bytes(kSets, kSimpleEscapes));
constexpr std::size_t kAtOnce = 32;

}  // namespace

bool has_valid_escapes(std::string_view text) {
  std::array<Marks<2>, kAtOnce> marks;
  EscapedBytes escaped;
  for (std::size_t base = 0; base < text.size(); base += kAtOnce * kMarkedBytes) {
    const std::string_view piece = text.substr(base, kAtOnce * kMarkedBytes);
    mark(piece, kSets, marks.data());
    for (std::size_t i = 0; i < marks_for(piece.size()); ++i) {
      const auto [backslashes, letters] = marks[i];
      const std::uint64_t others = escaped.among(backslashes) & ~(backslashes | letters);
      if (!are_number_escapes(piece.data() + i * kMarkedBytes, others)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace arborfs::json
