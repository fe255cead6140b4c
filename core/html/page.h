// The frame of the HTML pages: one file each, with its style and scripts inside, that loads nothing from anywhere. Its
// Content-Security-Policy allows the scripts and the style of arborfs by their hashes, images below the mount, and
// nothing else. Without scripts, everything can be read and followed. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace arborfs::html {

struct PageHead {
  std::string title;       // WTF-8
  std::string body_class;  // of the page's kind, for the style
  bool is_alone = false;   // its images are in it; else they are files, which are read where the page is one
};

/// Up to and with `<body>`.
std::string page_begin(const PageHead& head);
/// The scripts and the end. `has_code`: blocks of code with a language are coloured, which takes 105 KB of script.
std::string page_end(bool has_code);

// Parts of pages; their texts are WTF-8.

struct Link {
  std::string words;
  std::string path;  // from the page
};
/// A list of links; "" for none.
std::string link_list(const std::vector<Link>& links, std::string_view label);
/// A row of a list of facts, `<dl class="facts">`; "" without a value.
std::string fact(std::string_view name, std::string_view value);
/// The bar with the search; `filters` and `buttons` are HTML.
std::string find_bar(std::string_view hint, std::string_view filters = "", std::string_view buttons = "");

// The files that are built in (page.css, page.js, highlight.min.js).
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;
extern const std::string_view kHighlightScript;

}  // namespace arborfs::html
