// html::markdown(), by cmark-gfm.
#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm-extension_api.h>
#include <cmark-gfm.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/simd_classify.h"
#include "core/base/words.h"
#include "core/entry/text.h"
#include "core/html/html.h"

namespace arborfs::html {

namespace {

constexpr int kFirstHeading = 3;  // above it are those of the page
constexpr int kLastHeading = 6;
// A text that is longer, deeper or wider is shown as it is: cmark's time grows with the square of some texts, and with
// the cells of tables, of which a short text can have millions.
constexpr std::size_t kLongest = 64 << 10;
constexpr std::size_t kDeepest = 48;
constexpr std::size_t kMostCells = 50'000;

using NodePtr = std::unique_ptr<cmark_node, decltype(&cmark_node_free)>;
using ParserPtr = std::unique_ptr<cmark_parser, decltype(&cmark_parser_free)>;

std::string_view view_of(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

/// True for an address that a page may link to.
bool is_safe(std::string_view address) {
  constexpr std::array<std::string_view, 3> kSchemes = {"http://", "https://", "mailto:"};
  const auto begins = [&](std::string_view scheme) {
    return address.size() > scheme.size() &&
           std::equal(scheme.begin(), scheme.end(), address.begin(), [](char wanted, char is) {
             return wanted == static_cast<char>(std::tolower(static_cast<unsigned char>(is)));
           });
  };
  return std::any_of(kSchemes.begin(), kSchemes.end(), begins);
}

void put_before(cmark_node* node, cmark_node_type type, const std::string& literal) {
  cmark_node* const made = cmark_node_new(type);
  cmark_node_set_literal(made, literal.c_str());
  cmark_node_insert_before(node, made);
}

/// Puts the children of a link or an image in its place, and behind them where it leads.
void unwrap(cmark_node* node) {
  const std::string address(view_of(cmark_node_get_url(node)));
  std::string words;
  while (cmark_node* const child = cmark_node_first_child(node)) {
    words += view_of(cmark_node_get_literal(child));
    cmark_node_insert_before(node, child);
  }
  if (!address.empty() && address != words) {
    put_before(node, CMARK_NODE_TEXT, words.empty() ? address : " (" + address + ")");
  }
  cmark_node_free(node);
}

/// Puts a link with the children of an image in its place.
void link_instead(cmark_node* node) {
  cmark_node* const link = cmark_node_new(CMARK_NODE_LINK);
  cmark_node_set_url(link, cmark_node_get_url(node));
  cmark_node_insert_before(node, link);
  while (cmark_node* const child = cmark_node_first_child(node)) {
    cmark_node_append_child(link, child);
  }
  if (cmark_node_first_child(link) == nullptr) {
    cmark_node* const words = cmark_node_new(CMARK_NODE_TEXT);
    cmark_node_set_literal(words, "image");
    cmark_node_append_child(link, words);
  }
  cmark_node_free(node);
}

bool is_in_link(cmark_node* node) {
  for (cmark_node* above = cmark_node_parent(node); above != nullptr; above = cmark_node_parent(above)) {
    if (cmark_node_get_type(above) == CMARK_NODE_LINK) {
      return true;
    }
  }
  return false;
}

void make_harmless(cmark_node* node) {
  const cmark_node_type type = cmark_node_get_type(node);
  if (type == CMARK_NODE_HTML_BLOCK || type == CMARK_NODE_HTML_INLINE) {
    const std::string literal(view_of(cmark_node_get_literal(node)));
    put_before(node, type == CMARK_NODE_HTML_BLOCK ? CMARK_NODE_CODE_BLOCK : CMARK_NODE_TEXT, literal);
    cmark_node_free(node);
  } else if (type == CMARK_NODE_HEADING) {
    cmark_node_set_heading_level(node, std::min(cmark_node_get_heading_level(node) + kFirstHeading - 1, kLastHeading));
  } else if (type == CMARK_NODE_LINK || type == CMARK_NODE_IMAGE) {
    if (!is_safe(view_of(cmark_node_get_url(node))) || (type == CMARK_NODE_IMAGE && is_in_link(node))) {
      unwrap(node);
    } else if (type == CMARK_NODE_IMAGE) {
      link_instead(node);
    }
  }
}

/// The nodes that make_harmless() may change, children before their parents; nothing if they are too deep.
std::optional<std::vector<cmark_node*>> nodes_of(cmark_node* document) {
  std::vector<cmark_node*> nodes;
  std::size_t depth = 0;
  const std::unique_ptr<cmark_iter, decltype(&cmark_iter_free)> all(cmark_iter_new(document), cmark_iter_free);
  for (cmark_event_type event = cmark_iter_next(all.get()); event != CMARK_EVENT_DONE;
       event = cmark_iter_next(all.get())) {
    cmark_node* const node = cmark_iter_get_node(all.get());
    const cmark_node_type type = cmark_node_get_type(node);
    if (cmark_node_first_child(node) != nullptr) {
      depth += event == CMARK_EVENT_ENTER ? 1 : std::size_t{0} - 1;
    }
    if (depth > kDeepest) {
      return std::nullopt;
    }
    const bool is_leaf = type == CMARK_NODE_HTML_BLOCK || type == CMARK_NODE_HTML_INLINE;
    const bool is_other = type == CMARK_NODE_HEADING || type == CMARK_NODE_LINK || type == CMARK_NODE_IMAGE;
    if (event == CMARK_EVENT_EXIT ? is_other : is_leaf) {
      nodes.push_back(node);
    }
  }
  return nodes;
}

/// Adds what cmark leaves out of its elements: links tell nobody where they come from, and the keyboard scrolls what is
/// wide. Only cmark makes elements, so each `<` begins one of its own.
std::string with_attributes(std::string_view made) {
  struct Element {
    std::string_view begin;
    std::string_view more;
  };
  static constexpr std::array kElements = {Element{"<a ", "rel=\"noopener noreferrer\" "},
                                           Element{"<pre", " tabindex=\"0\""}, Element{"<table", " tabindex=\"0\""}};
  std::string out;
  std::size_t begin = 0;
  for (std::size_t at = made.find('<'); at != std::string_view::npos; at = made.find('<', at + 1)) {
    for (const Element& element : kElements) {
      if (made.substr(at).starts_with(element.begin)) {
        out.append(made, begin, at + element.begin.size() - begin).append(element.more);
        begin = at + element.begin.size();
      }
    }
  }
  return out.append(made, begin, made.size() - begin);
}

/// The cells that a table could have at most.
std::size_t cells_of(std::string_view text) {
  if (text.find('|') == std::string_view::npos) {
    return 0;
  }
  std::size_t lines = 0;
  std::size_t widest = 0;
  for (; !text.empty(); ++lines) {
    const std::string_view line = take_line(text);
    widest = std::max(widest, static_cast<std::size_t>(std::count(line.begin(), line.end(), '|')));
  }
  return lines * widest;
}

/// What a line of a paragraph may begin with, so that it begins nothing else.
bool begins_prose(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalpha(byte) != 0 || byte >= 0x80 || c == '"' || c == '\'' || c == '(';
}

/// What cmark makes of a text that has only paragraphs, in a small part of its time; nothing for other texts, and for
/// some of these.
std::optional<std::string> prose(std::string_view text) {
  static constexpr ByteSets kMarks(std::string_view("\t&*<@[\\]_`|~"));
  if (ByteSearch(text, kMarks).next(0) < text.size() || text.find("://") != std::string_view::npos ||
      text.find("www.") != std::string_view::npos) {
    return std::nullopt;
  }
  std::string out;
  out.reserve(text.size() + text.size() / 8 + 16);
  const bool has_quotes = text.find('"') != std::string_view::npos || text.find('>') != std::string_view::npos;
  bool is_open = false;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = take_line(rest);
    if (line.empty()) {
      out += std::exchange(is_open, false) ? "</p>\n" : "";
      continue;
    }
    if (!begins_prose(line.front()) || line.back() == ' ') {
      return std::nullopt;
    }
    out += std::exchange(is_open, true) ? "\n" : "<p>";
    std::size_t begin = 0;
    for (std::size_t at = has_quotes ? 0 : line.size(); at < line.size(); ++at) {
      if (line[at] == '"' || line[at] == '>') {
        out.append(line, begin, at - begin).append(line[at] == '"' ? "&quot;" : "&gt;");
        begin = at + 1;
      }
    }
    out.append(line, begin, line.size() - begin);
  }
  return out + (is_open ? "</p>\n" : "");
}

std::string as_it_is(std::string_view wtf8) {
  return "<pre class=\"plain\" tabindex=\"0\">" + text(wtf8) + "</pre>\n";
}

}  // namespace

std::string markdown(std::string_view wtf8) {
  if (wtf8.size() > kLongest || cells_of(wtf8) > kMostCells) {
    return as_it_is(wtf8);
  }
  const std::string shown = visible(wtf8);
  if (auto made = prose(shown)) {
    return *std::move(made);
  }
  static std::once_flag registered;
  std::call_once(registered, cmark_gfm_core_extensions_ensure_registered);
  const ParserPtr parser(cmark_parser_new(CMARK_OPT_DEFAULT), cmark_parser_free);
  for (const char* const name : {"table", "strikethrough", "autolink"}) {
    cmark_parser_attach_syntax_extension(parser.get(), cmark_find_syntax_extension(name));
  }
  cmark_parser_feed(parser.get(), shown.data(), shown.size());
  const NodePtr document(cmark_parser_finish(parser.get()), cmark_node_free);
  const auto nodes = nodes_of(document.get());
  if (!nodes) {
    return as_it_is(wtf8);
  }
  for (cmark_node* const node : *nodes) {
    make_harmless(node);
  }
  const std::unique_ptr<char, decltype(&std::free)> made(
      cmark_render_html(document.get(), CMARK_OPT_DEFAULT, cmark_parser_get_syntax_extensions(parser.get())),
      std::free);
  return with_attributes(view_of(made.get()));
}

}  // namespace arborfs::html
