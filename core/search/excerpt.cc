#include "core/search/excerpt.h"

#include <algorithm>

#include "core/base/columns.h"
#include "core/json/js_text.h"
#include "core/json/utf8.h"

namespace arborfs::search {

namespace {

std::size_t words_in(std::string_view folded_line, const std::vector<std::string>& words) {
  return static_cast<std::size_t>(std::count_if(words.begin(), words.end(), [&](const std::string& word) {
    return folded_line.find(word) != std::string_view::npos;
  }));
}

/// A line that says nothing: a blank one, or the fence of a code block.
bool is_empty_or_fence(std::string_view line) {
  return arborfs::is_blank(line) || line.starts_with("```");
}

/// The beginning of the text on one line, without what says nothing: for an entry that calls a tool, the tool and what
/// it is to do.
std::string beginning_of(std::string_view text, std::size_t columns) {
  std::string line;
  while (!text.empty() && columns_of(line) <= columns) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!is_empty_or_fence(one)) {
      (line += line.empty() ? "" : " ") += json::whole_characters(one, std::size_t{64} << 10U);
    }
  }
  return line;
}

/// The line with the most words; if no line has any, as for a phrase over two lines, the first that says something.
std::string_view best_line(std::string_view text, const std::vector<std::string>& words) {
  std::string_view best;
  std::size_t most = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t has = words_in(folded(line), words);
    if (has > most || (best.empty() && !is_empty_or_fence(line))) {
      best = line;
      most = has;
    }
    if (most == words.size() && most > 0) {
      break;
    }
  }
  return best;
}

/// The end of a part of at most `most` bytes, between two characters.
std::size_t end_of_part(std::string_view line, std::size_t begin, std::size_t most) {
  return begin + std::max<std::size_t>(1, json::whole_characters(line.substr(begin), most).size());
}

/// A part of a long line that has a word and, as far as the line has it, more text around it than an excerpt shows;
/// without a word, its beginning. Words are looked for in parts that overlap by more than twice that.
std::string_view part_with_word(std::string_view line, const std::vector<std::string>& words) {
  constexpr std::size_t kLongestPart = std::size_t{64} << 10U;
  constexpr std::size_t kOverlap = std::size_t{8} << 10U;
  for (std::size_t begin = 0; line.size() > kLongestPart;) {
    const std::size_t end = end_of_part(line, begin, kLongestPart);
    const std::string_view part = line.substr(begin, end - begin);
    if (words_in(folded(part), words) > 0) {
      return line.substr(begin, end_of_part(line, begin, kLongestPart + kOverlap / 2) - begin);
    }
    if (end == line.size()) {
      return line.substr(0, end_of_part(line, 0, kLongestPart));
    }
    begin = end_of_part(line, begin, kLongestPart - kOverlap);
  }
  return line;
}

/// Characters of a line, each with its folded form, so that a match in folded text has a place in the line.
struct Characters {
  std::string folded_line;
  std::vector<std::size_t> at;         // offsets in the line, one for each character, and its end
  std::vector<std::size_t> folded_at;  // the same in folded_line
  std::vector<std::size_t> column;     // those before each
};

Characters characters_of(std::string_view line) {
  Characters all;
  std::size_t offset = 0;
  std::size_t column = 0;
  for_each_character(line, [&](std::string_view one) {
    all.at.push_back(offset);
    all.folded_at.push_back(all.folded_line.size());
    all.column.push_back(column);
    append_folded(one, all.folded_line);
    offset += one.size();
    column += columns_of(one);
  });
  all.at.push_back(offset);
  all.folded_at.push_back(all.folded_line.size());
  all.column.push_back(column);
  return all;
}

/// Ranges of characters that words cover, in order, joined where they meet.
std::vector<std::pair<std::size_t, std::size_t>> covered(const Characters& line,
                                                         const std::vector<std::string>& words) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  const auto character_at = [&](std::size_t folded_offset) {
    const auto& at = line.folded_at;
    return static_cast<std::size_t>(std::upper_bound(at.begin(), at.end(), folded_offset) - at.begin()) - 1;
  };
  for (const std::string& word : words) {
    for (std::size_t at = line.folded_line.find(word); at != std::string::npos;
         at = line.folded_line.find(word, at + word.size())) {
      found.emplace_back(character_at(at), character_at(at + word.size() - 1) + 1);
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<std::pair<std::size_t, std::size_t>> joined;
  for (const auto& range : found) {
    if (!joined.empty() && range.first <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, range.second);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

}  // namespace

Excerpt excerpt_of(std::string_view text, const std::vector<std::string>& words, std::size_t columns) {
  const std::string beginning = words.empty() ? beginning_of(text, columns) : "";
  const std::string_view whole = words.empty() ? beginning : best_line(text, words);
  const std::string_view part = part_with_word(whole, words);
  const std::string_view chosen = trimmed(part);
  const Characters line = characters_of(chosen);
  const auto ranges = covered(line, words);
  const std::size_t count = line.at.size() - 1;
  const auto& column = line.column;
  std::size_t first = ranges.empty() || column.back() <= columns ? 0 : ranges.front().first;
  for (const std::size_t wanted = column[first]; first > 0 && wanted - column[first - 1] <= columns / 3;) {
    --first;
  }
  std::size_t last = first;
  while (last < count && column[last + 1] - column[first] <= columns) {
    ++last;
  }
  Excerpt excerpt;
  excerpt.text = first > 0 || part.data() > whole.data() ? "…" : "";
  const std::size_t lead = excerpt.text.size();
  excerpt.text += chosen.substr(line.at[first], line.at[last] - line.at[first]);
  const bool is_end = last == count && part.data() + part.size() == whole.data() + whole.size();
  excerpt.text += is_end ? "" : "…";
  for (const auto& [from, to] : ranges) {
    if (from >= first && to <= last) {
      excerpt.marks.emplace_back(lead + line.at[from] - line.at[first], line.at[to] - line.at[from]);
    }
  }
  return excerpt;
}

std::string marked(const Excerpt& excerpt, std::string_view begin, std::string_view end) {
  std::string out;
  std::size_t done = 0;
  for (const auto& [offset, length] : excerpt.marks) {
    out.append(excerpt.text, done, offset - done).append(begin).append(excerpt.text, offset, length).append(end);
    done = offset + length;
  }
  return out.append(excerpt.text, done);
}

}  // namespace arborfs::search
