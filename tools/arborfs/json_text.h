// JSON as the verbs print it with --json. Characters that could control or deceive a terminal are spelled \uXXXX, which
// means the same to every reader of JSON.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/json/document.h"

namespace arborfs::cli {

using JsonText = json::Text;

/// Copies JSON and writes \uXXXX for every character that a terminal may act upon, or that hides or reorders text.
/// Pieces may be cut anywhere.
class TerminalSafeJson {
 public:
  /// Appends the characters that are known to be complete to `out`.
  void feed(std::string_view piece, std::string& out);
  /// Appends the rest of a character that was cut, if any.
  void finish(std::string& out) { out += std::exchange(held_, {}); }

 private:
  std::string held_;
};

/// The same in one call.
std::string terminal_safe_json(std::string_view json);

}  // namespace arborfs::cli
