// Text of other programs and of people inside a Markdown document. It may have Markdown of its own, but none that the
// rest of the document could be mistaken for: no heading, no HTML, no fence or bracket that stays open. By the rules of
// CommonMark and of pandoc. Only backslashes, newlines before fences, commas in the words after a fence, and fences at
// the end are added. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/render/raw_string.h"
#include "core/render/sink.h"

namespace arborfs {

/// Where a text stands.
enum class MarkdownPlace : std::uint8_t {
  paragraphs,  // lines of its own, with a blank line before and after them
  quote,       // the same behind `> `, where fences are text
  line,        // on a line that has other words; newlines are spaces
};

/// The text as Markdown. Lines within a fence stay as they are. Linear time.
std::string as_markdown(std::string_view text, MarkdownPlace place);

/// True for a JSON string, given without its quotes, that as_markdown() surely leaves as it is wherever it stands. Most
/// texts are such, and are measured without being decoded: the sizes of the texts of a log cost 48 million instructions
/// instead of 85 (tests/instructions, index_sizes).
bool is_plain_markdown(std::string_view spelled);

/// Puts text as it is where it stands.
template <class Sink, class Text>
void put_in_place(Sink& sink, const Text& text, MarkdownPlace place) {
  switch (place) {
    case MarkdownPlace::paragraphs:
      return put_text(sink, text);
    case MarkdownPlace::quote:
      return put_prefixed(sink, "> ", text);
    case MarkdownPlace::line:
      return put_line(sink, text);
  }
}

/// Puts text as Markdown; for a sink that does not filter, as it is.
template <class Sink>
void put_markdown(Sink& sink, std::string_view text, MarkdownPlace place) {
  if constexpr (Sink::kFilters) {
    put_in_place(sink, std::string_view(as_markdown(text, place)), place);
  } else {
    put_in_place(sink, text, place);
  }
}
template <class Sink>
void put_markdown(Sink& sink, const RawString& text, MarkdownPlace place) {
  if (is_plain_markdown(text.literal())) {
    put_in_place(sink, text, place);
  } else {
    put_markdown(sink, std::string_view(text.decoded()), place);
  }
}

}  // namespace arborfs
