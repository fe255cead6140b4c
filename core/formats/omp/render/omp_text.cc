#include "core/formats/omp/render/omp_text.h"

#include <simdjson.h>

#include <algorithm>

#include "core/formats/omp/context/usage.h"
#include "core/formats/omp/render/entry_text.h"
#include "core/formats/omp/render/image_blocks.h"
#include "core/json/document.h"
#include "core/render/text.h"

namespace arborfs {
namespace {

/// Entries whose text would be longer than this are treated as too long.
constexpr std::uint64_t kMaxText = std::uint64_t{64} << 20U;
/// No entry up to this size can have such a text (value_text.h bounds the growth).
constexpr std::uint64_t kCannotSwell = std::uint64_t{1} << 20U;
/// A parser that grew beyond this is not kept; it holds fourteen times as much memory, in each thread.
constexpr std::size_t kKeptParser = std::size_t{64} << 10U;
constexpr std::size_t kLongEntry = std::size_t{8} << 20U;
constexpr std::ptrdiff_t kManyValues = 500'000;

/// The parser of this thread, whose buffers are made once; it is replaced if a giant entry enlarged them.
class BorrowedParser {
 public:
  ~BorrowedParser() {
    if (kept().capacity() > kKeptParser) {
      kept() = simdjson::dom::parser();
    }
  }
  simdjson::dom::parser* operator->() { return &kept(); }

 private:
  static simdjson::dom::parser& kept() {
    thread_local simdjson::dom::parser parser;
    return parser;
  }
};

/// Renders into a sink; returns the number of images mentioned.
template <class Sink>
std::uint32_t render_slowly(EntryType type, std::string_view raw, Sink& sink) {
  json::Document document;
  if (!json::parse(raw, document)) {
    EntryText<SlowNode, Sink>(sink).verbatim(raw);
    return 0;
  }
  EntryText<SlowNode, Sink> text(sink);
  text.render(type, SlowNode(&document));
  return text.images();
}

template <class Sink>
std::uint32_t render(EntryType type, std::string_view raw, Sink& sink) {
  BorrowedParser parser;
  simdjson::dom::element root;
  if (parser->parse(raw.data(), raw.size()).get(root) == simdjson::SUCCESS) {
    EntryText<FastNode, Sink> text(sink);
    if (text.render(type, FastNode(root))) {
      return text.images();
    }
    sink.rewind();
  }
  return render_slowly(type, raw, sink);
}

/// True for a long entry of very many small values, whose parsed form would be many times its size.
bool is_dense(std::string_view raw) {
  return raw.size() > kLongEntry && std::count(raw.begin(), raw.end(), ',') > kManyValues;
}

bool is_swollen(EntryType type, std::string_view raw) {
  if (raw.size() <= kCannotSwell) {
    return false;
  }
  if (is_dense(raw)) {
    return true;
  }
  CountingSink sink;
  render(type, raw, sink);
  return sink.size() > kMaxText;
}

/// The size of a text, and the number of images that it mentions.
struct Extent {
  std::uint64_t size = 0;
  std::uint32_t images = 0;
};
Extent measure(EntryType type, std::string_view raw) {
  if (raw.size() > kMaxRenderedEntry || is_dense(raw)) {
    return {too_long_size(raw.size()), 0};
  }
  CountingSink sink;
  const std::uint32_t images = render(type, raw, sink);
  return sink.size() > kMaxText ? Extent{too_long_size(raw.size()), 0} : Extent{sink.size(), images};
}

}  // namespace

void render_text(EntryType type, std::string_view raw, std::string& out) {
  if (raw.size() > kMaxRenderedEntry || is_swollen(type, raw)) {
    return render_too_long(raw.size(), out);
  }
  StringSink sink(out);
  render(type, raw, sink);
}

std::uint64_t text_size(EntryType type, std::string_view raw) {
  return measure(type, raw).size;
}

namespace {

/// As omp counts for its own statistics: a line that was written twice counts twice (omp/FORMAT.md C24).
std::optional<UsageReport> report_of(const std::optional<Usage>& usage) {
  std::optional<UsageReport> report;
  if (usage) {
    report.emplace().usage = *usage;
  }
  return report;
}

}  // namespace

TextMeasure measure_text(EntryType type, std::string_view raw) {
  const Extent extent = measure(type, raw);
  TextMeasure found{extent.size, {}, report_of(raw.size() > kMaxRenderedEntry ? std::nullopt : find_usage(type, raw))};
  if (extent.images > 0) {
    find_images(kNoEntry, type, raw, found.images);
  }
  return found;
}

void render_text_slowly(EntryType type, std::string_view raw, std::string& out) {
  StringSink sink(out);
  render_slowly(type, raw, sink);
}

std::string first_words(EntryType type, std::string_view raw, std::size_t columns) {
  if (raw.size() > kMaxRenderedEntry || is_dense(raw)) {
    return first_words_of_too_long(raw.size(), columns);
  }
  HeadSink sink(columns * 8 + 64);
  render(type, raw, sink);
  return first_line_of(sink.head(), columns);
}

}  // namespace arborfs
