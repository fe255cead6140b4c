#include "core/html/page.h"

#include <cstddef>

#include "core/base/hash.h"
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

}  // namespace arborfs::html
