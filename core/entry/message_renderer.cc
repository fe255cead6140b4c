#include "core/entry/message_renderer.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/hash.h"
#include "core/entry/markdown.h"
#include "core/entry/text.h"
#include "core/entry/text_sizes.h"
#include "core/entry/value_text.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"

namespace arborfs {
namespace {

/// A parsed record that knows where each of its strings is in its text. Used by one thread.
class PlacedRecord {
 public:
  /// `raw` outlives the record.
  explicit PlacedRecord(std::string_view raw);

  [[nodiscard]] std::string_view raw() const { return raw_; }
  /// False if the text is not one JSON value.
  [[nodiscard]] bool is_json() const { return is_json_; }
  [[nodiscard]] const json::Value& value() const { return value_; }
  /// The JSON text within raw() of a string of value(), quotes included. Empty for other values, and for all strings of
  /// a text that is not UTF-8.
  [[nodiscard]] std::string_view literal_of(const json::Value& string) const;

 private:
  std::string_view raw_;
  std::string copy_;  // the strings of value_ point into it; empty if raw_ is not UTF-8
  json::Document value_;
  bool is_json_ = false;
};

PlacedRecord::PlacedRecord(std::string_view raw) : raw_(raw) {
  if (!json::is_valid_utf8(raw)) {
    is_json_ = json::parse(raw, value_);
    return;
  }
  copy_ = raw;
  is_json_ = json::parse_in_place(copy_, value_);
}

// A string that is unescaped in place keeps its beginning.
std::string_view PlacedRecord::literal_of(const json::Value& string) const {
  const char* const text = string.IsString() ? string.GetString() : nullptr;
  const char* const first = copy_.data();
  const std::less_equal<const char*> is_at_most;
  if (text == nullptr || !is_at_most(first + 1, text) || !is_at_most(text, first + copy_.size())) {
    return {};
  }
  const std::size_t begin = static_cast<std::size_t>(text - first) - 1;
  const std::size_t end = raw_[begin] == '"' ? skim::value_end(raw_, begin) : std::string_view::npos;
  return end == std::string_view::npos ? std::string_view() : raw_.substr(begin, end - begin);
}

template <class Sink>
class MessageBlocks : public Blocks<SlowNode, Sink> {
  using Base = Blocks<SlowNode, Sink>;

 public:
  using Base::Base;

  void put(const MessagePart& part) {
    switch (part.kind) {
      case MessagePart::Kind::thinking:
        return this->quote(std::string_view(part.text));
      case MessagePart::Kind::tool_call:
        return outlined(part.tool.empty() ? "(tool without a name)" : std::string_view(part.tool), part.text);
      case MessagePart::Kind::tool_output:
        return this->fenced_text("", std::string_view(part.text));
      case MessagePart::Kind::tool_error:
        return tool_error(part);
      case MessagePart::Kind::image:
        return image(part);
      case MessagePart::Kind::fields:
        return outlined(part.tool, part.text);
      default:
        return this->paragraph(std::string_view(part.text));
    }
  }
  void put_record(const json::Value& record) { this->plain_value(SlowNode(&record)); }
  void put_verbatim(std::string_view text) { this->fenced_text("", text); }

 private:
  /// Puts a name, and below it an outline of JSON, or the text that is not JSON.
  void outlined(std::string_view name, std::string_view text) {
    json::Document parsed;
    const SlowNode node(json::parse(text, parsed) ? &parsed : nullptr);
    const bool is_empty = text.empty() || Base::is_empty_container(node);
    this->fenced("", [&](auto& sink) {
      put_line(sink, name);
      if (is_empty) {
        return;
      }
      sink.raw(name.empty() ? "" : "\n");
      if (is_container(node)) {
        this->outline(node, sink);
      } else {
        put_text(sink, without_end_newlines(text));
      }
    });
  }

  void image(const MessagePart& image) {
    const std::string_view url = image.data != nullptr && image.data->IsString()
                                     ? mime_type_of_url(json::as_string(*image.data))
                                     : std::string_view();
    const std::string_view mime_type = image.text.empty() ? url : std::string_view(image.text);
    this->begin_block();
    this->sink_.raw("[image ");
    this->sink_.raw(std::to_string(++this->images_));
    if (!mime_type.empty()) {
      this->sink_.raw(": ");
      put_markdown(this->sink_, mime_type, MarkdownPlace::line);
    }
    this->sink_.raw("]");
  }

  void tool_error(const MessagePart& error) {
    this->begin_block();
    this->sink_.raw("**error**");
    if (!error.tool.empty()) {
      this->sink_.raw(" from ");
      put_markdown(this->sink_, std::string_view(error.tool), MarkdownPlace::line);
    }
  }
};

}  // namespace

std::optional<RecordUsage> MessageRenderer::usage_of(EntryType /*type*/, const json::Value& /*record*/) const {
  return std::nullopt;
}

namespace {

template <class Sink>
void put_parts(const json::Value& record, const std::optional<Message>& message, Sink& sink) {
  MessageBlocks<Sink> blocks(sink);
  if (message) {
    for (const MessagePart& part : *message) {
      blocks.put(part);
    }
  } else {
    blocks.put_record(record);
  }
  blocks.end();
}

template <class Sink>
void put_too_long(std::string_view raw, Sink& sink) {
  std::string text;
  render_too_long(raw.size(), text);
  sink.raw(text);
}

template <class Sink>
void put_raw(std::string_view raw, Sink& sink) {
  MessageBlocks<Sink> blocks(sink);
  blocks.put_verbatim(raw);
  blocks.end();
}

/// The images that have bytes, numbered as the text numbers all of them.
std::vector<ImageRef> images_of(const PlacedRecord& record, const Message& message) {
  std::vector<ImageRef> images;
  std::uint32_t number = 0;
  for (const MessagePart& part : message) {
    if (part.kind != MessagePart::Kind::image) {
      continue;
    }
    ++number;
    const std::string_view literal = part.data == nullptr ? std::string_view() : record.literal_of(*part.data);
    if (auto image = find_inline_image(record.raw(), literal, part.text)) {
      image->number = number;
      images.push_back(*std::move(image));
    }
  }
  return images;
}

UsageReport report_of(const RecordUsage& told) {
  return {told.usage, told.sums, told.request.empty() ? 0 : xxh64(told.request), told.may_grow, told.is_inherited};
}

}  // namespace

template <class Sink>
void MessageRenderer::put(EntryType type, std::string_view raw, Sink& sink) const {
  if (raw.size() > kLongestParsed) {
    return put_too_long(raw, sink);
  }
  json::Document record;
  if (!json::parse(raw, record)) {
    return put_raw(raw, sink);
  }
  put_parts(record, message_of(type, record), sink);
}

void MessageRenderer::render(EntryType type, std::string_view raw, std::string& out) const {
  StringSink sink(out);
  put(type, raw, sink);
}

TextMeasure MessageRenderer::measure(EntryType type, std::string_view raw) const {
  CountingSink sink;
  TextMeasure found;
  if (raw.size() > kLongestParsed) {
    put_too_long(raw, sink);
  } else if (const PlacedRecord record(raw); !record.is_json()) {
    put_raw(raw, sink);
  } else {
    const auto message = message_of(type, record.value());
    put_parts(record.value(), message, sink);
    found.images = message ? images_of(record, *message) : std::vector<ImageRef>();
    if (auto told = usage_of(type, record.value())) {
      found.usage = report_of(*told);
    }
  }
  found.size = sink.size();
  return found;
}

std::optional<EntryUsage> MessageRenderer::usage(EntryType type, std::string_view raw) const {
  json::Document record;
  if (raw.size() > kLongestParsed || !json::parse(raw, record)) {
    return std::nullopt;
  }
  auto told = usage_of(type, record);
  if (!told) {
    return std::nullopt;
  }
  return EntryUsage{report_of(*told), std::move(told->request_anywhere), std::move(told->model)};
}

std::string MessageRenderer::first_words(EntryType type, std::string_view raw, std::size_t columns) const {
  HeadSink sink(columns * 8 + 64);
  json::Document record;
  if (raw.size() > kLongestParsed || !json::parse(raw, record)) {
    put(type, raw, sink);
    return first_line_of(sink.head(), columns);
  }
  const auto message = message_of(type, record);
  const std::string type_word(message ? "" : json::string_member(record, "type").value_or(""));
  if (!type_word.empty()) {
    return visible_line("(" + type_word + ")", columns);
  }
  put_parts(record, message, sink);
  return first_line_of(sink.head(), columns);
}

void MessageRenderer::add_turns(const SpokenEntry& entry, std::vector<Turn>& turns) const {
  json::Document record;
  if (!json::parse(entry.raw, record) || !add_turns_of(entry, record, turns)) {
    RecordRenderer::add_turns(entry, turns);
  }
}

}  // namespace arborfs
