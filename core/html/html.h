// Text of logs as HTML. Nothing in it can make an element, an attribute, a style or a script that arborfs did not make:
// every character with a meaning is escaped, and control and invisible characters are spelled out (core/entry/text.h).
// Texts are WTF-8. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace arborfs::html {

/// As the text of an element, and as the value of an attribute within double quotes.
std::string text(std::string_view wtf8);

/// A text in Markdown as GitHub's Markdown, of which HTML is shown as text. Its headings are h3 and below. Links lead
/// to `http`, `https` and `mailto` alone; what others lead to is text, and so are images: a page loads nothing. A text
/// that would take long is shown as it is: one over 64 KiB, of deeply nested marks, or with a very large table.
std::string markdown(std::string_view wtf8);

/// What a program wrote to a terminal, for an element `pre`: with the colours and weights of ANSI as the classes `fg0`
/// to `fg15`, `bg0` to `bg15`, `bold`, `dim`, `italic`, `underline`. Other sequences are spelled out.
std::string terminal(std::string_view wtf8);

/// A unified diff, for an element `pre`: each line is an element of class `add`, `del`, `at` or `same`.
std::string diff(std::string_view wtf8);

}  // namespace arborfs::html
