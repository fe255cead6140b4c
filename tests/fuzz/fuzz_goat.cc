// Any bytes as the messages of goat: entries are in the log, in its order and in one chain, and each text has its
// promised size. What comes before the first NUL, if there is one, is the metadata.
#include <optional>
#include <string>

#include "core/formats/goat/format.h"
#include "core/formats/goat/metadata.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/log/log_index.h"
#include "core/log/log_reader.h"
#include "core/entry/tree.h"
#include "core/entry/record_renderer.h"
#include "tests/fuzz/support/check.h"
#include "tests/fuzz/support/visible.h"

namespace arborfs::fuzz {
namespace {

constexpr std::size_t kLongestInput = 32 * 1024;
constexpr std::size_t kShownColumns = 20;

void check_message(std::string_view messages, const LogIndex& index, Ordinal ordinal) {
  const Entry& entry = index.entry(ordinal);
  check(entry.offset + entry.length <= messages.size(), "an entry outside of the log");
  check(ordinal == 1 || entry.offset > index.entry(ordinal - 1).offset, "entries out of order");
  check_equal(index.parent(ordinal), ordinal - 1, "parent of an entry");
  const std::string_view raw = messages.substr(entry.offset, entry.length);
  json::Document record;
  check(json::parse(raw, record) && record.IsObject(), "an entry that is no JSON object", std::string(raw));
  const RecordRenderer& renderer = *goat::format().renderer;
  std::string text;
  renderer.render(entry.type, raw, text);
  const TextMeasure measure = renderer.measure(entry.type, raw);
  check_equal(measure.size, text.size(), "measured size of a text");
  for (const ImageRef& image : measure.images) {
    check(image.data_offset + image.data_length <= raw.size(), "an image outside of its entry");
  }
  check(text.ends_with('\n'), "a text ends with a line feed", text);
  check(json::is_valid_utf8(text), "a text that is not UTF-8", text);
  check_visible(text, "\n\t");
  check_visible(renderer.first_words(entry.type, raw, kShownColumns));
}

void check_losses(std::string_view messages, const LogIndex& index) {
  std::uint64_t behind = 0;
  for (const Damage& run : index.damage()) {
    check(run.length > 0 && run.offset >= behind, "damage that is empty or out of order");
    behind = run.offset + run.length;
    check(behind <= messages.size(), "damage beyond the end");
  }
}

void check_context(const LogIndex& index, const std::shared_ptr<const LogSource>& log) {
  const auto context = goat::format().renderer->context(context_path(index, index.leaf()), log, nullptr);
  const auto text = context ? (*context)->read_all() : Result<std::string>(context.error());
  check(text.has_value(), "a context cannot be read");
  json::Document parsed;
  check(json::parse(*text, parsed), "a context that is not JSON", *text);
  check_equal(json::member(parsed, "messages")->GetArray().Size(), index.size(), "messages of a context");
}

}  // namespace

void run(std::string_view input) {
  if (input.size() > kLongestInput) {
    return;
  }
  const std::size_t nul = input.find('\0');
  const bool has_metadata = nul != std::string_view::npos;
  const std::string_view messages = has_metadata ? input.substr(nul + 1) : input;
  goat::Parts parts;
  parts.messages.emplace().size = messages.size();
  const auto metadata = has_metadata ? std::optional(std::string(input.substr(0, nul))) : std::nullopt;
  const std::shared_ptr<const LogSource> log = std::make_shared<const goat::Source>(
      parts, log_from_bytes(std::string(messages)), goat::Metadata{metadata, 0, nullptr});
  const auto built = goat::format().reader->index(*log, {});
  check(built.has_value(), "an index of bytes in memory cannot fail");
  const LogIndex& index = **built;
  check(!index.has_duplicate_ids(), "two entries with one id");
  check(has_metadata || !index.header().valid, "a header without metadata");
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    check_message(messages, index, ordinal);
  }
  check_losses(messages, index);
  check(index.begins_with(index), "an index is not what it is");
  check_context(index, log);
}

}  // namespace arborfs::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  arborfs::fuzz::run(arborfs::fuzz::as_text(data, size));
  return 0;
}
