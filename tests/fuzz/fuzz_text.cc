// Any bytes as a log: the readable text of each entry has the size that a listing promises, is UTF-8 and sends nothing
// to the terminal; inline images decode to the promised size.
#include <string>

#include "core/entry/text.h"
#include "core/entry/text_sizes.h"
#include "core/formats/omp/context/renderer.h"
#include "core/formats/omp/log/reader.h"
#include "core/json/utf8.h"
#include "tests/fuzz/support/check.h"
#include "tests/fuzz/support/visible.h"

namespace arborfs::fuzz {
namespace {

constexpr std::size_t kLongest = 32 * 1024;
constexpr std::size_t kColumns = 20;

std::size_t characters(std::string_view utf8) {
  std::size_t count = 0;
  for (const char c : utf8) {
    count += (static_cast<unsigned char>(c) & 0xC0U) == 0x80U ? 0U : 1U;
  }
  return count;
}

void check_text(EntryType type, std::string_view raw, std::uint64_t promised) {
  std::string text;
  omp::render_text(type, raw, text);
  check_equal(text.size(), promised, "size of a text");
  check_equal(omp::text_size(type, raw), promised, "measured size of a text");
  std::string slow;
  omp::render_text_slowly(type, raw, slow);
  check(text == slow, "a text of the slow parser differs", slow);
  check(text.ends_with('\n') && !text.ends_with("\n\n"), "a text ends with one line feed", text);
  check(json::is_valid_utf8(text), "a text that is not UTF-8", text);
  check_visible(text, "\n\t");
  const std::string words = omp::first_words(type, raw, kColumns);
  check(json::is_valid_utf8(words), "first words that are not UTF-8", words);
  check_visible(words);
  check(characters(words) <= kColumns, "too many first words", words);
}

void check_images(const LogSource& log, const LogIndex& index, const TextSizes& details) {
  for (const ImageRef& image : details.images()) {
    check(image.ordinal >= 1 && image.ordinal <= index.size(), "an image of no entry");
    if (!image.blob.empty()) {
      continue;
    }
    const Entry& entry = index.entry(image.ordinal);
    const auto whole = read_inline_image(log, entry, image, 0, image.size + 100);
    check(whole.has_value(), "an inline image cannot be read");
    check_equal(whole->size(), image.size, "size of an image");
    const auto part = read_inline_image(log, entry, image, image.size / 3, image.size / 2);
    check(part.has_value() && *part == whole->substr(image.size / 3, image.size / 2), "part of an image");
  }
}

}  // namespace

void run(std::string_view input) {
  if (input.size() > kLongest) {
    return;
  }
  const auto log = log_from_bytes(std::string(input));
  const auto index = omp::reader().index(*log, {});
  check(index.has_value(), "an index of bytes in memory cannot fail");
  std::vector<Entry> entries;
  for (Ordinal o = 1; o <= (*index)->size(); ++o) {
    entries.push_back((*index)->entry(o));
  }
  TextSizes details;
  auto delta = omp::renderer().measure(*log, details.next(), entries, {});
  check(delta.has_value(), "details of bytes in memory cannot fail");
  details.apply(std::move(*delta));
  check_equal(details.size(), (*index)->size(), "texts");
  for (Ordinal o = 1; o <= details.size(); ++o) {
    const Entry& entry = entries[o - 1];
    check_text(entry.type, input.substr(entry.offset, entry.length), details.text_size(o));
  }
  check_images(*log, **index, details);
}

}  // namespace arborfs::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  arborfs::fuzz::run(arborfs::fuzz::as_text(data, size));
  return 0;
}
