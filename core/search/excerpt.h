// The part of a text around a match, on one line. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace arborfs::search {

struct Excerpt {
  std::string text;
  /// Where the words stand in it: offset and length, in ascending order, not overlapping.
  std::vector<std::pair<std::size_t, std::size_t>> marks;
};

/// The line of `text` with the most words, cut around the first of them to at most `columns`. Words are folded
/// (utf8.h). Without words, the beginning of the text.
Excerpt excerpt_of(std::string_view text, const std::vector<std::string>& words, std::size_t columns);

/// The excerpt's text with `begin` and `end` around each mark.
std::string marked(const Excerpt& excerpt, std::string_view begin, std::string_view end);

}  // namespace arborfs::search
