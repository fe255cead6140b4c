// Text of other programs and of people inside a Markdown document. It may have Markdown of its own, but none that the
// rest of the document could be mistaken for: no heading, no HTML, no fence or bracket that stays open. By the rules of
// CommonMark and of pandoc. Only backslashes, newlines before fences, commas in the words after a fence, and fences at
// the end are added. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/entry/value_text.h"

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

/// The blocks of a rendered entry: paragraphs, fences, lists of names, with a blank line between them and one newline
/// at the end. They are sound Markdown whatever the texts in them are. The base of the formats' renderers.
template <class Node, class Sink>
class Blocks {
 public:
  using Text = typename Node::Text;

  explicit Blocks(Sink& sink) : sink_(sink) {}

  /// Ends the text.
  void end() { sink_.raw("\n"); }
  [[nodiscard]] bool in_order() const { return in_order_; }
  [[nodiscard]] std::uint32_t images() const { return images_; }

 protected:
  void begin_block() {
    if (any_) {
      sink_.raw("\n\n");
    }
    any_ = true;
  }

  template <class AnyText>
  void paragraph(const AnyText& text) {
    const AnyText trimmed = without_end_newlines(text);
    if (!trimmed.empty()) {
      begin_block();
      put_markdown(sink_, trimmed, MarkdownPlace::paragraphs);
    }
  }

  template <class AnyText>
  void quote(const AnyText& text) {
    const AnyText trimmed = without_end_newlines(text);
    if (!trimmed.empty()) {
      begin_block();
      put_markdown(sink_, trimmed, MarkdownPlace::quote);
    }
  }

  /// Puts `body(sink)` between fences that nothing in it can close.
  template <class Body>
  void fenced(std::string_view language, Body body) {
    FenceProbe probe;
    body(probe);
    const std::string fence = probe.fence();
    begin_block();
    sink_.raw(fence);
    sink_.raw(language);
    sink_.raw("\n");
    body(sink_);
    sink_.raw("\n");
    sink_.raw(fence);
  }

  void fenced_text(std::string_view language, const Text& text) {
    const Text trimmed = without_end_newlines(text);
    if (!trimmed.empty()) {
      fenced(language, [&](auto& sink) { put_text(sink, trimmed); });
    }
  }

  void fenced_value(const Node& node) {
    fenced("", [&](auto& sink) { value(node, sink); });
  }

  /// Puts a value of no known shape so that its words can be read: text unchanged, an outline between fences.
  void plain_value(const Node& node) {
    if (is_text(node)) {
      return paragraph(node.text());
    }
    if (is_container(node)) {
      return fenced_value(node);
    }
    begin_block();
    json(node, sink_);
  }

  /// Puts text unchanged, anything else as an outline between fences; nothing if it is missing or null.
  void text_or_value(const Node& node) {
    if (node.kind() == NodeKind::string) {
      paragraph(node.text());
    } else if (node.kind() != NodeKind::missing && node.kind() != NodeKind::null) {
      fenced_value(node);
    }
  }

  template <class Other>
  void value(const Node& node, Other& sink) {
    if (is_container(node) && !is_empty_container(node)) {
      outline(node, sink);
    } else {
      json(node, sink);
    }
  }

  template <class Other>
  void json(const Node& node, Other& sink) {
    PrettyJson<Node, Other> printer(sink);
    in_order_ = printer.print(node) && in_order_;
  }

  template <class Other>
  void outline(const Node& node, Other& sink) {
    Outline<Node, Other> printer(sink);
    in_order_ = printer.print(node) && in_order_;
  }

  static bool is_empty_container(const Node& node) { return is_container(node) && typename Node::Cursor(node).done(); }

  static bool is_text(const Node& node) { return node.kind() == NodeKind::string; }
  static Text text_of(const Node& node) { return is_text(node) ? node.text() : Text(); }
  static bool is_true(const Node& node) { return node.kind() == NodeKind::boolean && node.boolean(); }

  /// Puts a scalar on the current line; containers as "...".
  void phrase(const Node& node) {
    if (is_text(node)) {
      put_markdown(sink_, node.text(), MarkdownPlace::line);
    } else if (is_container(node)) {
      sink_.raw("...");
    } else {
      put_plain_scalar(node, sink_);
    }
  }

  /// Puts an array as "a, b, c" on the current line.
  void names(const Node& list) {
    if (list.kind() != NodeKind::array) {
      return phrase(list);
    }
    typename Node::Cursor cursor(list);
    Text key;
    for (bool first = true; !cursor.done(); first = false) {
      sink_.raw(first ? "" : ", ");
      phrase(cursor.next(key));
    }
  }

  Sink& sink_;                // NOLINT: shared by the renderers built on this
  std::uint32_t images_ = 0;  // NOLINT
  bool in_order_ = true;      // NOLINT

 private:
  bool any_ = false;
};

}  // namespace arborfs
