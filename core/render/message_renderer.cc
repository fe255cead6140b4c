#include "core/render/message_renderer.h"

#include <algorithm>

#include "core/json/document.h"
#include "core/render/blocks.h"
#include "core/render/node.h"
#include "core/render/text.h"

namespace arborfs {
namespace {

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
        return tool_call(part);
      case MessagePart::Kind::tool_error:
        return tool_error(part);
      default:
        return this->paragraph(std::string_view(part.text));
    }
  }
  void put_json(const json::Value& record) { this->plain_json(SlowNode(&record)); }

 private:
  void tool_call(const MessagePart& call) {
    json::Document arguments;
    const bool is_json = json::parse(call.text, arguments);
    const SlowNode node(is_json ? &arguments : nullptr);
    this->fenced("", [&](auto& sink) {
      put_line(sink, call.tool.empty() ? std::string_view("(tool without a name)") : std::string_view(call.tool));
      if (call.text.empty() || Base::is_empty_container(node)) {
        return;
      }
      sink.raw("\n");
      if (is_container(node)) {
        this->outline(node, sink);
      } else {
        put_text(sink, without_end_newlines(std::string_view(call.text)));
      }
    });
  }

  void tool_error(const MessagePart& error) {
    this->begin_block();
    this->sink_.raw("**error**");
    if (!error.tool.empty()) {
      this->sink_.raw(" from ");
      put_line(this->sink_, std::string_view(error.tool));
    }
  }
};

}  // namespace

template <class Sink>
void MessageRenderer::put(EntryType type, std::string_view raw, Sink& sink) const {
  if (raw.size() > kLongestParsed) {
    std::string text;
    render_too_long(raw.size(), text);
    return sink.raw(text);
  }
  json::Document record;
  if (!json::parse(raw, record)) {
    put_text(sink, without_end_newlines(raw));
    return sink.raw("\n");
  }
  MessageBlocks<Sink> blocks(sink);
  if (const auto message = message_of(type, record)) {
    for (const MessagePart& part : *message) {
      blocks.put(part);
    }
  } else {
    blocks.put_json(record);
  }
  blocks.end();
}

void MessageRenderer::render(EntryType type, std::string_view raw, std::string& out) const {
  StringSink sink(out);
  put(type, raw, sink);
}

TextMeasure MessageRenderer::measure(EntryType type, std::string_view raw) const {
  CountingSink sink;
  put(type, raw, sink);
  return TextMeasure{sink.size(), {}, {}};
}

std::string MessageRenderer::first_words(EntryType type, std::string_view raw, std::size_t columns) const {
  HeadSink sink(columns * 8 + 64);
  put(type, raw, sink);
  return first_line_of(sink.head(), columns);
}

}  // namespace arborfs
