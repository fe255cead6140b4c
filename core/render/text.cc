#include "core/render/text.h"

#include <simdjson.h>

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/json/document.h"
#include "core/render/entry_text.h"
#include "core/render/images.h"
#include "core/render/record_renderer.h"
#include "core/render/text_measurer.h"

namespace arborfs {
namespace {

static_assert(TextMeasurer::kPadding >= simdjson::SIMDJSON_PADDING &&
              TextMeasurer::kPadding >= json::Places::kPadding && TextMeasurer::kPadding >= RawText::kPadding);

/// Entries whose text would be longer than this are treated as too long.
constexpr std::uint64_t kMaxText = std::uint64_t{64} << 20U;
/// No entry up to this size can have such a text (value_text.h bounds the growth).
constexpr std::uint64_t kCannotSwell = std::uint64_t{1} << 20U;
/// A parser that grew beyond this is not kept; it holds fourteen times as much memory, in each thread.
constexpr std::size_t kKeptParser = std::size_t{64} << 10U;
constexpr std::size_t kLongEntry = std::size_t{8} << 20U;
constexpr std::ptrdiff_t kManyValues = 500'000;
constexpr std::uint32_t kNoLength = 0xFFFFFFFF;

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

std::string too_long_text(std::uint64_t length) {
  const std::string size = length < kNoLength ? std::to_string(length) + " bytes" : "4 GiB or more";
  return "This entry of " + size + " is too long to be shown as text; its JSON is in entries/.\n";
}

enum class Behind { nothing, read_ahead };  // bytes that can be read after the raw text

/// Renders into a sink; returns the number of images mentioned.
template <class Sink>
std::uint32_t render_slowly(EntryType type, std::string_view raw, Sink& sink) {
  json::Document document;
  if (!json::parse(raw, document)) {
    sink.raw(visible(without_end_newlines(raw)));
    sink.raw("\n");
    return 0;
  }
  EntryText<SlowNode, Sink> text(sink);
  text.render(type, SlowNode(&document));
  return text.images();
}

template <class Sink>
std::uint32_t render(EntryType type, std::string_view raw, Behind behind, Sink& sink) {
  BorrowedParser parser;
  simdjson::dom::element root;
  if (parser->parse(raw.data(), raw.size(), behind == Behind::nothing).get(root) == simdjson::SUCCESS) {
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
  render(type, raw, Behind::nothing, sink);
  return sink.size() > kMaxText;
}

/// The size of a text, and the number of images that it mentions.
struct Extent {
  std::uint64_t size = 0;
  std::uint32_t images = 0;
};
Extent measure(EntryType type, std::string_view raw, Behind behind) {
  if (raw.size() > kMaxRenderedEntry || is_dense(raw)) {
    return {too_long_size(raw.size()), 0};
  }
  CountingSink sink;
  const std::uint32_t images = render(type, raw, behind, sink);
  return sink.size() > kMaxText ? Extent{too_long_size(raw.size()), 0} : Extent{sink.size(), images};
}

}  // namespace

void render_text(EntryType type, std::string_view raw, std::string& out) {
  if (raw.size() > kMaxRenderedEntry || is_swollen(type, raw)) {
    return render_too_long(raw.size(), out);
  }
  StringSink sink(out);
  render(type, raw, Behind::nothing, sink);
}

std::uint64_t text_size(EntryType type, std::string_view raw) {
  return measure(type, raw, Behind::nothing).size;
}

std::optional<TextMeasure> TextMeasurer::measure(EntryType type, std::string_view raw, const json::Places& places) {
  CountingSink sink;
  EntryText<PlainNode, CountingSink> text(sink);
  const PlainEntry plain{places, spelled_};
  if (raw.size() > kCannotSwell || !spelled_.read(raw) || !text.render(type, PlainNode(plain))) {
    return std::nullopt;
  }
  TextMeasure found{sink.size(), {}, find_usage(type, places)};
  if (text.images() > 0) {
    find_images(kNoEntry, type, raw, found.images);
  }
  return found;
}

TextMeasure TextMeasurer::measure(EntryType type, std::string_view raw) {
  const bool is_container = raw.starts_with('{') || raw.starts_with('[');
  if (is_container && raw.size() <= kCannotSwell && places_.find(raw)) {
    if (auto found = measure(type, raw, places_)) {
      return *std::move(found);
    }
  }
  const Extent extent = arborfs::measure(type, raw, Behind::read_ahead);
  TextMeasure found{extent.size, {}, raw.size() > kMaxRenderedEntry ? std::nullopt : find_usage(type, raw)};
  if (extent.images > 0) {
    find_images(kNoEntry, type, raw, found.images);
  }
  return found;
}

void render_text_slowly(EntryType type, std::string_view raw, std::string& out) {
  StringSink sink(out);
  render_slowly(type, raw, sink);
}

void render_too_long(std::uint64_t length, std::string& out) {
  out += too_long_text(length);
}

std::uint64_t too_long_size(std::uint64_t length) {
  return too_long_text(length).size();
}

Result<std::string> read_text(const RecordRenderer& renderer, const LogSource& log, EntryType type,
                              std::uint64_t offset, std::uint64_t length) {
  if (length > kMaxRenderedEntry) {
    std::string out;
    render_too_long(length, out);
    return out;
  }
  ASSIGN_OR_RETURN(const auto raw, log.read(offset, length));
  std::string out;
  renderer.render(type, raw, out);
  return out;
}

std::string first_words(EntryType type, std::string_view raw, std::size_t columns) {
  if (raw.size() > kMaxRenderedEntry) {
    return visible_line(without_end_newlines(too_long_text(raw.size())), columns);
  }
  if (is_dense(raw)) {
    return visible_line(without_end_newlines(too_long_text(raw.size())), columns);
  }
  HeadSink sink(columns * 8 + 64);
  render(type, raw, Behind::nothing, sink);
  return first_line_of(sink.head(), columns);
}

std::string first_line_of(std::string_view text, std::size_t columns) {
  std::string_view head = without_end_newlines(text);
  head.remove_prefix(std::min(head.find_first_not_of(" \n\t`>"), head.size()));
  return visible_line(head, columns);
}

}  // namespace arborfs
