// Text of other programs and of people inside a Markdown document. It may have Markdown of its own, but none that the
// rest of the document could be mistaken for: no heading, no HTML, no fence or bracket that stays open. By the rules of
// CommonMark and of pandoc. Only backslashes, newlines before fences, commas in the words after a fence, and fences at
// the end are added. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

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

/// True for a text that as_markdown() surely leaves as it is wherever it stands, as most are: they are not copied.
bool is_plain_markdown(std::string_view text);

/// Puts text as it is where it stands.
template <class Sink>
void put_in_place(Sink& sink, std::string_view text, MarkdownPlace place) {
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
  if (!Sink::kFilters || is_plain_markdown(text)) {
    put_in_place(sink, text, place);
  } else {
    put_in_place(sink, std::string_view(as_markdown(text, place)), place);
  }
}

}  // namespace arborfs
