#include "tests/fuzz/support/visible.h"

#include <string>

#include "tests/fuzz/support/check.h"

namespace arborfs::fuzz {
namespace {

constexpr std::string_view kForbidden[] = {
    "\xD8\x9C",     "\xE2\x80\x8B", "\xE2\x80\x8C", "\xE2\x80\x8E", "\xE2\x80\x8F", "\xE2\x80\xAA",
    "\xE2\x80\xAB", "\xE2\x80\xAC", "\xE2\x80\xAD", "\xE2\x80\xAE", "\xE2\x81\xA0", "\xE2\x81\xA6",
    "\xE2\x81\xA7", "\xE2\x81\xA8", "\xE2\x81\xA9", "\xEF\xBB\xBF",
};

}  // namespace

void check_visible(std::string_view text, std::string_view allowed) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool is_control = c < 0x20 || c == 0x7F;
    const bool is_high_control = c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    check((!is_control || allowed.find(text[i]) != std::string_view::npos) && !is_high_control, "a control character",
          std::string(text));
  }
  for (const std::string_view bad : kForbidden) {
    check(text.find(bad) == std::string_view::npos, "an invisible character", std::string(text));
  }
}

}  // namespace arborfs::fuzz
