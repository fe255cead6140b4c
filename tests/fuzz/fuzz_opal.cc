// Any bytes as a log of Opal: entries are in the log and in the order of their tree, and each text has its promised
// size. The first line of a kept input is the header.
#include <string>

#include "core/entry/record_renderer.h"
#include "core/entry/tree.h"
#include "core/formats/omp/context/renderer.h"
#include "core/formats/opal/format.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/log/log_index.h"
#include "core/log/log_reader.h"
#include "tests/fuzz/support/check.h"
#include "tests/fuzz/support/visible.h"

namespace arborfs::fuzz {
namespace {

constexpr std::size_t kLongest = 32 * 1024;
constexpr std::size_t kColumns = 20;

void check_entry(std::string_view input, const LogIndex& index, Ordinal ordinal) {
  const Entry& entry = index.entry(ordinal);
  check(entry.offset + entry.length <= input.size(), "an entry outside of the log");
  const std::string_view raw = input.substr(entry.offset, entry.length);
  json::Document record;
  check(json::parse(raw, record), "an entry that is not JSON", std::string(raw));
  const RecordRenderer& renderer = *opal::format().renderer;
  std::string text;
  renderer.render(entry.type, raw, text);
  check_equal(renderer.measure(entry.type, raw).size, text.size(), "measured size of a text");
  check(text.ends_with('\n'), "a text ends with a line feed", text);
  check(json::is_valid_utf8(text), "a text that is not UTF-8", text);
  check_visible(text, "\n\t");
  check_visible(renderer.first_words(entry.type, raw, kColumns));
}

void check_damage(std::string_view input, const LogIndex& index) {
  std::uint64_t behind = 0;
  for (const Damage& run : index.damage()) {
    check(run.length > 0 && run.offset >= behind, "damage that is empty or out of order");
    behind = run.offset + run.length;
    check(behind <= input.size(), "damage beyond the end");
  }
}

}  // namespace

void run(std::string_view input) {
  if (input.size() > kLongest || input.starts_with("\xFF\xFE")) {
    return;
  }
  const auto log = log_from_bytes(std::string(input));
  const auto built = opal::format().reader->index(*log, {});
  check(built.has_value(), "an index of bytes in memory cannot fail");
  const LogIndex& index = **built;
  check(!index.has_duplicate_ids(), "two entries with one id");
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    check_entry(input, index, ordinal);
  }
  check_damage(input, index);
  check(index.begins_with(index), "an index is not what it is");
  const auto path = path_to(index, index.leaf());
  const auto context = opal::format().renderer->context(context_path(index, index.leaf()), log, nullptr);
  const auto text = context ? (*context)->read_all() : Result<std::string>(context.error());
  check(text.has_value(), "a context cannot be read");
  json::Document parsed;
  check(json::parse(*text, parsed), "a context that is not JSON", *text);
  check_equal(json::member(parsed, "messages")->GetArray().Size(), path.size(), "messages of a context");
}

}  // namespace arborfs::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  arborfs::fuzz::run(arborfs::fuzz::as_text(data, size));
  return 0;
}
