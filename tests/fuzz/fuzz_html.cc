// Any bytes as a text of a page: the HTML has only elements and attributes that arborfs makes, each of which is closed,
// and leads nowhere but to the web.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/html/html.h"
#include "core/json/utf8.h"
#include "tests/fuzz/support/check.h"

namespace arborfs::fuzz {
namespace {

constexpr std::size_t kLongest = 16 * 1024;

using Attributes = std::set<std::string, std::less<>>;
const std::map<std::string, Attributes, std::less<>>& elements() {
  static const std::map<std::string, Attributes, std::less<>> known = {{"p", {}},
                                                                       {"em", {}},
                                                                       {"strong", {}},
                                                                       {"del", {"class"}},
                                                                       {"ins", {"class"}},
                                                                       {"span", {"class"}},
                                                                       {"code", {"class"}},
                                                                       {"pre", {"class", "tabindex"}},
                                                                       {"ul", {}},
                                                                       {"ol", {"start"}},
                                                                       {"li", {}},
                                                                       {"blockquote", {}},
                                                                       {"h3", {}},
                                                                       {"h4", {}},
                                                                       {"h5", {}},
                                                                       {"h6", {}},
                                                                       {"table", {"tabindex"}},
                                                                       {"thead", {}},
                                                                       {"tbody", {}},
                                                                       {"tr", {}},
                                                                       {"th", {"align"}},
                                                                       {"td", {"align"}},
                                                                       {"br", {}},
                                                                       {"hr", {}},
                                                                       {"a", {"href", "rel", "title"}}};
  return known;
}

/// Checks the element that begins at `at`; returns the place behind it.
std::size_t check_element(const std::string& html, std::size_t at, std::vector<std::string>& open) {
  const std::size_t end = html.find('>', at);
  check(end != std::string::npos, "an element that does not end", html);
  std::string_view inside = std::string_view(html).substr(at + 1, end - at - 1);
  const bool closes = inside.starts_with('/');
  inside.remove_prefix(closes ? 1 : 0);
  const std::string name(inside.substr(0, inside.find_first_of(" /")));
  const auto known = elements().find(name);
  check(known != elements().end(), "an unknown element", html);
  inside.remove_prefix(name.size());
  while (!inside.empty() && inside != " /") {
    const std::size_t equals = inside.find("=\"");
    check(inside[0] == ' ' && equals != std::string_view::npos, "an attribute without a value", html);
    const std::string_view attribute = inside.substr(1, equals - 1);
    check(known->second.contains(attribute), "an unknown attribute", html);
    const std::size_t quote = inside.find('"', equals + 2);
    check(quote != std::string_view::npos, "a value that does not end", html);
    const std::string_view value = inside.substr(equals + 2, quote - equals - 2);
    const auto begins = [&](std::string_view scheme) {
      return value.size() >= scheme.size() && std::equal(scheme.begin(), scheme.end(), value.begin(),
                                                         [](char a, char b) { return a == (b | 0x20) || a == b; });
    };
    check(attribute != "href" || begins("http://") || begins("https://") || begins("mailto:"), "a link elsewhere",
          html);
    inside.remove_prefix(quote + 1);
  }
  if (closes) {
    check(!open.empty() && open.back() == name, "an element that is closed out of turn", html);
    open.pop_back();
  } else if (name != "br" && name != "hr") {
    open.push_back(name);
  }
  return end + 1;
}

void check_html(const std::string& html) {
  check(json::is_valid_utf8(html), "HTML that is no UTF-8", html);
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at)) {
    at = check_element(html, at, open);
  }
  check(open.empty(), "an element that is not closed", html);
}

}  // namespace
}  // namespace arborfs::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.size() <= arborfs::fuzz::kLongest) {
    for (std::string (*const make)(std::string_view) :
         {arborfs::html::text, arborfs::html::markdown, arborfs::html::terminal, arborfs::html::diff}) {
      arborfs::fuzz::check_html(make(input));
    }
  }
  return 0;
}
