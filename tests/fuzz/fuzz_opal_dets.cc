// Any bytes as a DETS table of Opal, and as one Erlang term: a term that is translated is JSON, and a translation has
// entries that are JSON lines of it.
#include <string>

#include "core/formats/opal/dets_translation.h"
#include "core/formats/opal/format.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/log/log_index.h"
#include "core/log/log_reader.h"
#include "core/entry/record_renderer.h"
#include "tests/fuzz/support/check.h"

namespace arborfs::fuzz {
namespace {

constexpr std::size_t kLongestTable = 64 * 1024;

void check_term(std::string_view bytes) {
  std::string json = "before";
  if (opal::append_term(bytes, json)) {
    check(json.starts_with("before"), "a term that changed what was before it", json);
    json.erase(0, 6);
    json::Document parsed;
    check(json::parse(json, parsed), "a term that is not JSON", json);
    check(json::is_valid_utf8(json), "a term that is not UTF-8", json);
    check(json.find('\n') == std::string::npos, "a term of two lines", json);
  }
}

void check_table(std::string_view bytes) {
  const auto table = log_from_bytes(std::string(bytes));
  const auto lines = opal::translate_dets(*table, {});
  if (!lines) {
    return;
  }
  check(lines->ends_with('\n'), "a translation ends with a line feed", *lines);
  const auto log = log_from_bytes(*lines);
  const auto built = opal::dets_format().reader->index(*log, {});
  check(built.has_value(), "an index of bytes in memory cannot fail");
  for (Ordinal ordinal = 1; ordinal <= (*built)->size(); ++ordinal) {
    const Entry& entry = (*built)->entry(ordinal);
    const std::string_view raw = std::string_view(*lines).substr(entry.offset, entry.length);
    std::string text;
    opal::dets_format().renderer->render(entry.type, raw, text);
    check_equal(opal::dets_format().renderer->measure(entry.type, raw).size, text.size(), "measured size of a text");
  }
}

}  // namespace

void run(std::string_view input) {
  if (input.size() <= kLongestTable) {
    check_term(input);
    check_table(input);
  }
}

}  // namespace arborfs::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  arborfs::fuzz::run(arborfs::fuzz::as_text(data, size));
  return 0;
}
