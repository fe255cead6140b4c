// Any bytes as a thread of Codex: entries are in the log, parents before children, and each text has its promised size.
// Lines `--` divide the input into segments with the ids 0, 1, ...; the first line is also tried as a file name.
#include <string>
#include <vector>

#include "core/formats/codex/format.h"
#include "core/formats/codex/thread_table.h"
#include "core/formats/codex/segments_log.h"
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

constexpr std::size_t kLongest = 32 * 1024;
constexpr std::size_t kColumns = 20;
constexpr std::size_t kMostSegments = 8;
constexpr std::string_view kDivider = "\n--\n";

std::vector<codex::Segment> segments_in(std::string_view input) {
  std::vector<codex::Segment> segments;
  for (bool is_last = false; !is_last;) {
    const std::size_t end = segments.size() + 1 < kMostSegments ? input.find(kDivider) : std::string_view::npos;
    is_last = end == std::string_view::npos;
    const std::string_view bytes = input.substr(0, is_last ? end : end + 1);
    input.remove_prefix(is_last ? input.size() : end + kDivider.size());
    codex::Segment segment;
    segment.id = std::to_string(segments.size());
    segment.file = log_from_bytes(std::string(bytes));
    segment.length = bytes.size();
    const auto head = codex::read_head(*segment.file);
    check(head.has_value(), "a first line in memory that cannot be read");
    segment.head = *head;
    segments.push_back(std::move(segment));
  }
  return segments;
}

void check_entry(const LogSource& log, const LogIndex& index, Ordinal ordinal) {
  const Entry& entry = index.entry(ordinal);
  const auto raw = log.read(entry.offset, entry.length);
  check(raw.has_value(), "an entry outside of the log");
  check(index.parent(ordinal) < ordinal, "a parent behind its child");
  json::Document record;
  check(json::parse(*raw, record), "an entry that is not JSON", *raw);
  const RecordRenderer& renderer = *codex::format().renderer;
  std::string text;
  renderer.render(entry.type, *raw, text);
  check_equal(renderer.measure(entry.type, *raw).size, text.size(), "measured size of a text");
  check(text.empty() || text.ends_with('\n'), "a text ends with a line feed", text);
  check(json::is_valid_utf8(text), "a text that is not UTF-8", text);
  check_visible(text, "\n\t");
  check_visible(renderer.first_words(entry.type, *raw, kColumns));
}

void check_damage(std::uint64_t size, const LogIndex& index) {
  std::uint64_t behind = 0;
  for (const Damage& run : index.damage()) {
    check(run.length > 0 && run.offset >= behind, "damage that is empty or out of order");
    behind = run.offset + run.length;
    check(behind <= size, "damage beyond the end");
  }
}

}  // namespace

void run(std::string_view input) {
  if (input.size() > kLongest || input.starts_with("\xFF\xFE")) {
    return;
  }
  if (const auto name = codex::parse_rollout_name(input.substr(0, input.find('\n')))) {
    check(!name->thread.empty() && !name->segment.empty(), "a name without ids");
  }
  const auto log = std::make_shared<const codex::SegmentsLog>(segments_in(input), codex::ThreadFacts(), FileStat());
  const auto built = codex::format().reader->index(*log, {});
  check(built.has_value(), "an index of bytes in memory cannot fail");
  const LogIndex& index = **built;
  check(!index.has_duplicate_ids(), "two entries with one id");
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    check_entry(*log, index, ordinal);
  }
  check_damage(*log->size(), index);
  check(index.begins_with(index), "an index is not what it is");
  const auto context = codex::format().renderer->context(context_path(index, index.leaf()), log, nullptr);
  const auto text = context ? (*context)->read_all() : Result<std::string>(context.error());
  check(text.has_value(), "a context cannot be read");
  json::Document parsed;
  check(json::parse(*text, parsed), "a context that is not JSON", *text);
  check(json::member(parsed, "messages")->IsArray(), "a context without messages");
}

}  // namespace arborfs::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  arborfs::fuzz::run(arborfs::fuzz::as_text(data, size));
  return 0;
}
