// Secrets of many kinds, made at run time from seeds, so that no file has text that looks like a key; and the escapes
// behind which they hide.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace arborfs::redact::testing {

/// How a secret looks, and the text around it. In both, {a20} stands for 20 random characters of the kind `a` (see
/// planted_secrets.cc).
struct Kind {
  const char* name;    // of the rule that takes it
  const char* before;  // tells what it is
  const char* secret;
  const char* after;
};
const std::vector<Kind>& kinds();

struct Planted {
  std::string before;
  std::string secret;
  std::string after;
  [[nodiscard]] std::string text() const { return before + secret + after; }
};
Planted plant(const Kind& kind, std::uint64_t seed);

struct Escaping {
  const char* name;
  std::string (*escape)(std::string_view text);
  bool is_json;  // the result is a JSON text
};
const std::vector<Escaping>& escapings();

/// True if a part of the secret, ten bytes or all of it, is in the text or behind its escapes.
bool has_part(std::string_view text, std::string_view secret);

}  // namespace arborfs::redact::testing
