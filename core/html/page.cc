#include "core/html/page.h"

#include <cstddef>

#include "core/base/hash.h"
#include "core/entry/names.h"
#include "core/html/html.h"
#include "core/json/base64.h"

namespace arborfs::html {

namespace {

/// As a Content-Security-Policy names a script or a style.
std::string hash_of(std::string_view source) {
  const std::string hex = sha256_hex(source);
  std::string bytes;
  for (std::size_t at = 0; at < hex.size(); at += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16)));
  }
  return "'sha256-" + json::encode_base64(bytes) + "'";
}

std::string policy(bool is_alone) {
  static const std::string policy = "; style-src " + hash_of(kPageStyle) + "; script-src " + hash_of(kPageScript) +
                                    " " + hash_of(kHighlightScript) + "; base-uri 'none'; form-action 'none'";
  return "default-src 'none'; img-src " + std::string(is_alone ? "data:" : "'self' file:") + policy;
}

}  // namespace

std::string page_begin(const PageHead& head) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"";
  out += policy(head.is_alone) + "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += "<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"generator\" content=\"arborfs ";
  out += std::string(ARBORFS_VERSION) + "\">\n<title>" + text(head.title) + "</title>\n<style>";
  out.append(kPageStyle).append("</style>\n</head>\n<body class=\"" + text(head.body_class) + "\">\n");
  return out;
}

std::string page_end(bool has_code) {
  std::string out;
  if (has_code) {
    out.append("<script>").append(kHighlightScript).append("</script>\n");
  }
  return out.append("<script>").append(kPageScript).append("</script>\n</body>\n</html>\n");
}

std::string link_list(const std::vector<Link>& links, std::string_view label) {
  if (links.empty()) {
    return "";
  }
  std::string out = "<nav aria-label=\"" + text(label) + "\"><ul class=\"links\">\n";
  for (const Link& link : links) {
    out += "<li><a href=\"" + names::address(link.path) + "\">" + text(link.words) + "</a></li>\n";
  }
  return out + "</ul></nav>\n";
}

std::string fact(std::string_view name, std::string_view value) {
  return value.empty() ? "" : "<div><dt>" + text(name) + "</dt><dd>" + text(value) + "</dd></div>\n";
}

std::string find_bar(std::string_view hint, std::string_view filters, std::string_view buttons) {
  return "<div class=\"bar\" role=\"search\">\n" + std::string(filters) +
         "<span class=\"needs-script\"><input type=\"search\" id=\"find\" aria-label=\"" + text(hint) +
         "\" placeholder=\"find ( / )\"> <output id=\"found\"></output> " + std::string(buttons) +
         "<button type=\"button\" id=\"theme\">light or dark</button></span>\n</div>\n";
}

}  // namespace arborfs::html
