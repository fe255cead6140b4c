#include "core/render/text.h"

#include <simdjson.h>

#include <algorithm>

#include "core/json/document.h"
#include "core/render/entry_text.h"
#include "core/render/measure.h"

namespace arborfs {
namespace {

static_assert(kReadAhead >= simdjson::SIMDJSON_PADDING);

/// Texts that swell beyond this are treated as those of entries that are too long.
constexpr std::uint64_t kMaxText = std::uint64_t{64} << 20U;
/// No entry up to this size can swell that far (value_text.h bounds the growth).
constexpr std::uint64_t kCannotSwell = std::uint64_t{1} << 20U;
/// A parser that grew beyond this is not kept; it holds fourteen times as much, in each thread.
constexpr std::size_t kKeptParser = std::size_t{64} << 10U;
constexpr std::size_t kLongEntry = std::size_t{8} << 20U;
constexpr std::ptrdiff_t kManyValues = 500'000;
constexpr std::uint32_t kNoLength = 0xFFFFFFFF;

/// The parser of this thread, whose buffers are made once; given back when a giant entry swelled them.
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

enum class Behind { nothing, read_ahead };  // what can be read behind the raw text

/// Whether usage can stand in an entry (FACTS C24).
template <class Node>
bool has_usage(EntryType type, const Node& entry) {
  if (type != EntryType::message) {
    return type == EntryType::model_usage;
  }
  const Node message = entry.member("message");
  const auto is = [&message](std::string_view key, std::string_view text) {
    const Node value = message.member(key);
    return value.kind() == NodeKind::string && value.text() == text;
  };
  return is("role", "assistant") || (is("role", "toolResult") && is("toolName", "task"));
}

/// Renders into a sink; the measure lacks the size, which the sink has.
template <class Sink>
TextMeasure render_slowly(EntryType type, std::string_view raw, Sink& sink) {
  json::Document document;
  if (!json::parse(raw, document)) {
    sink.raw(visible(without_end_newlines(raw)));
    sink.raw("\n");
    return {};
  }
  EntryText<SlowNode, Sink> text(sink);
  text.render(type, SlowNode(&document));
  return {0, text.images(), has_usage(type, SlowNode(&document))};
}

template <class Sink>
TextMeasure render(EntryType type, std::string_view raw, Behind behind, Sink& sink) {
  BorrowedParser parser;
  simdjson::dom::element root;
  if (parser->parse(raw.data(), raw.size(), behind == Behind::nothing).get(root) == simdjson::SUCCESS) {
    EntryText<FastNode, Sink> text(sink);
    if (text.render(type, FastNode(root))) {
      return {0, text.images(), has_usage(type, FastNode(root))};
    }
    sink.rewind();
  }
  return render_slowly(type, raw, sink);
}

/// A long entry of very many small values, whose parsed form would be many times its size.
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

TextMeasure measure(EntryType type, std::string_view raw, Behind behind) {
  if (is_dense(raw)) {
    return {too_long_size(raw.size()), 0, false};
  }
  CountingSink sink;
  TextMeasure measure = render(type, raw, behind, sink);
  measure.size = sink.size();
  if (measure.size > kMaxText) {
    measure.size = too_long_size(raw.size());
    measure.images = 0;
  }
  return measure;
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
  if (raw.size() > kMaxRenderedEntry) {
    return too_long_size(raw.size());
  }
  return measure(type, raw, Behind::nothing).size;
}

TextMeasure measure_text(EntryType type, std::string_view raw) {
  return measure(type, raw, Behind::read_ahead);
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

Result<std::string> read_text(const LogFile& log, EntryType type, std::uint64_t offset, std::uint64_t length) {
  if (length > kMaxRenderedEntry) {
    std::string out;
    render_too_long(length, out);
    return out;
  }
  const auto raw = log.read(offset, length);
  if (!raw) {
    return raw.error();
  }
  std::string out;
  render_text(type, *raw, out);
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
  std::string_view head = without_end_newlines(sink.head());
  head.remove_prefix(std::min(head.find_first_not_of(" \n\t`>"), head.size()));
  return visible_line(head, columns);
}

}  // namespace arborfs
