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

template <class Sink>
void put_markdown(Sink& sink, std::string_view text) {
  if constexpr (Sink::kFilters) {
    put_text(sink, as_markdown(text, MarkdownPlace::paragraphs));
  } else {
    put_text(sink, text);
  }
}
template <class Sink>
void put_markdown(Sink& sink, const RawString& text) {
  put_markdown(sink, std::string_view(text.decoded()));
}

template <class Sink>
void put_markdown_quote(Sink& sink, std::string_view text) {
  if constexpr (Sink::kFilters) {
    put_prefixed(sink, "> ", as_markdown(text, MarkdownPlace::quote));
  } else {
    put_prefixed(sink, "> ", text);
  }
}
template <class Sink>
void put_markdown_quote(Sink& sink, const RawString& text) {
  put_markdown_quote(sink, std::string_view(text.decoded()));
}

/// Puts text on one line.
template <class Sink>
void put_markdown_line(Sink& sink, std::string_view text) {
  if constexpr (Sink::kFilters) {
    put_line(sink, as_markdown(text, MarkdownPlace::line));
  } else {
    put_line(sink, text);
  }
}
template <class Sink>
void put_markdown_line(Sink& sink, const RawString& text) {
  put_markdown_line(sink, std::string_view(text.decoded()));
}

}  // namespace arborfs
