// The texts of generated sessions: prose, and code with the output of tools. They are made once, cut at line or
// sentence ends, and kept both plain and escaped for a JSON string, so that filling a log is only copying.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/generate/random.h"

namespace arborfs::generate {

/// Appends `text` escaped for a JSON string, without the quotes.
void append_escaped(std::string& out, std::string_view text);

class TextPool {
 public:
  static const TextPool& prose();
  static const TextPool& code();

  /// Appends whole pieces until there are about `bytes`, escaped for a JSON string.
  void append_json(std::string& out, Random& random, std::size_t bytes) const { append(escaped_, out, random, bytes); }
  void append_plain(std::string& out, Random& random, std::size_t bytes) const { append(plain_, out, random, bytes); }

 private:
  struct Pieces {
    std::string text;
    std::vector<std::size_t> starts;
  };
  void add(std::string_view piece);
  static void append(const Pieces& pieces, std::string& out, Random& random, std::size_t bytes);
  Pieces plain_;
  Pieces escaped_;
};

std::string_view word(Random& random);

}  // namespace arborfs::generate
