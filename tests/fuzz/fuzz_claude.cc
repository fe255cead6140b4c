// Any bytes as a transcript of Claude Code: entries are in the log, each text has its promised size, images lie within
// their entries, and every context is JSON.
#include <string>

#include "core/formats/claude/format.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/log/log_index.h"
#include "core/log/log_reader.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text_sizes.h"
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
  const RecordRenderer& renderer = *claude::format().renderer;
  std::string text;
  renderer.render(entry.type, raw, text);
  const TextMeasure measure = renderer.measure(entry.type, raw);
  check_equal(measure.size, text.size(), "measured size of a text");
  for (const ImageRef& image : measure.images) {
    check(image.data_offset + image.data_length < raw.size(), "an image outside of its entry", std::string(raw));
    const auto bytes = read_inline_image(*log_from_bytes(std::string(raw)), Entry{}, image, 0, image.size);
    check(bytes && bytes->size() == image.size, "an image of another size", std::string(raw));
  }
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

void check_context(const LogIndex& index, const std::shared_ptr<const LogSource>& log, Ordinal leaf) {
  const auto context = claude::format().renderer->context(context_path(index, leaf), log, nullptr);
  const auto text = context ? (*context)->read_all() : Result<std::string>(context.error());
  check(text.has_value(), "a context cannot be read");
  json::Document parsed;
  check(json::parse(*text, parsed), "a context that is not JSON", *text);
}

}  // namespace

void run(std::string_view input) {
  if (input.size() > kLongest || input.starts_with("\xFF\xFE")) {
    return;
  }
  const auto log = log_from_bytes(std::string(input));
  const auto built = claude::format().reader->index(*log, {});
  check(built.has_value(), "an index of bytes in memory cannot fail");
  const LogIndex& index = **built;
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    check_entry(input, index, ordinal);
  }
  check_damage(input, index);
  check(index.begins_with(index), "an index is not what it is");
  check_context(index, log, index.leaf());
  for (const Ordinal tip : index.tips()) {
    check_context(index, log, tip);
  }
}

}  // namespace arborfs::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  arborfs::fuzz::run(arborfs::fuzz::as_text(data, size));
  return 0;
}
