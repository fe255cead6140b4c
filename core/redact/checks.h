// What tells a secret from other text of its shape: its entropy, a checksum, words that stand for one. Pure functions,
// any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace arborfs::redact {

/// The entropy of the text's bytes, in bits for each byte.
double entropy_of(std::string_view text);

/// The CRC-32 of the text as GitHub and npm spell it at the end of their tokens: six digits of base 62.
std::string base62_checksum(std::string_view text);

enum class Verdict {
  proven,    // a checksum or the structure is right; low entropy does not matter
  possible,  // what its entropy says
  refused,   // no secret
};
using Check = Verdict (*)(std::string_view secret);

/// The check of that name in a list of rules; a null pointer if there is none. "" names the one that finds everything
/// possible.
Check check_named(std::string_view name);
std::vector<std::string> names_of_checks();

}  // namespace arborfs::redact
