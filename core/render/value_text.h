// Any JSON value as text: as pretty JSON, and as an outline that is easier to read (strings with newlines as lines).
// Templates over node.h and sink.h; iterative, so nesting uses no stack; indentation stops growing at kMaxIndent
// levels, which bounds the output by a small multiple of the input.
//
// print() returns false if the node's members are not in JSON.parse's order (FastNode::in_order): the sink's content
// must then be discarded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/render/node.h"
#include "core/render/sink.h"

namespace arborfs {

inline constexpr std::size_t kMaxIndent = 20;

template <class Sink>
void put_indent(Sink& sink, std::size_t levels) {
  static constexpr std::string_view kSpaces = "                                        ";
  static_assert(kSpaces.size() == 2 * kMaxIndent);
  sink.raw(kSpaces.substr(0, 2 * std::min(levels, kMaxIndent)));
}

/// null, a boolean or a number.
template <class Node, class Sink>
void put_plain_scalar(const Node& node, Sink& sink) {
  switch (node.kind()) {
    case NodeKind::boolean:
      return sink.raw(node.boolean() ? "true" : "false");
    case NodeKind::number:
      return sink.raw(json::number_text(node.number()));
    default:
      return sink.raw("null");
  }
}

template <class Node>
bool is_container(const Node& node) {
  return node.kind() == NodeKind::array || node.kind() == NodeKind::object;
}

template <class Node>
struct OpenContainer {
  explicit OpenContainer(const Node& node) : cursor(node), is_object(node.kind() == NodeKind::object) {}
  typename Node::Cursor cursor;
  bool is_object;
  bool is_first = true;
};

/// JSON with two spaces per level. Control and invisible characters are escaped.
template <class Node, class Sink>
class PrettyJson {
 public:
  explicit PrettyJson(Sink& sink) : sink_(sink) {}

  bool print(const Node& node) {
    value(node);
    while (!open_.empty() && in_order_) {
      step();
    }
    return in_order_;
  }

 private:
  void value(const Node& node) {
    if (!is_container(node)) {
      return node.kind() == NodeKind::string ? put_json_string(sink_, node.text()) : put_plain_scalar(node, sink_);
    }
    OpenContainer<Node> container(node);
    if (container.cursor.done()) {
      return sink_.raw(container.is_object ? "{}" : "[]");
    }
    in_order_ = in_order_ && node.in_order();
    sink_.raw(container.is_object ? "{" : "[");
    open_.push_back(container);
  }

  void step() {
    OpenContainer<Node>& top = open_.back();
    if (top.cursor.done()) {
      const bool is_object = top.is_object;
      open_.pop_back();
      sink_.raw("\n");
      put_indent(sink_, open_.size());
      return sink_.raw(is_object ? "}" : "]");
    }
    sink_.raw(top.is_first ? "\n" : ",\n");
    top.is_first = false;
    put_indent(sink_, open_.size());
    typename Node::Text key;
    const Node node = top.cursor.next(key);
    if (top.is_object) {
      put_json_string(sink_, key);
      sink_.raw(": ");
    }
    value(node);
  }

  Sink& sink_;
  std::vector<OpenContainer<Node>> open_;
  bool in_order_ = true;
};

/// `key: value` lines, `-` for items, two spaces per level; text of several lines is indented below its key.
template <class Node, class Sink>
class Outline {
 public:
  explicit Outline(Sink& sink) : sink_(sink) {}

  /// `node` must be a container that is not empty. The output neither starts nor ends with a newline.
  bool print(const Node& node) {
    in_order_ = node.in_order();
    open_.emplace_back(node);
    while (!open_.empty() && in_order_) {
      step();
    }
    return in_order_;
  }

 private:
  void step() {
    OpenContainer<Node>& top = open_.back();
    if (top.cursor.done()) {
      return open_.pop_back();
    }
    if (!at_start_) {
      sink_.raw("\n");
    }
    at_start_ = false;
    put_indent(sink_, open_.size() - 1);
    typename Node::Text key;
    const Node node = top.cursor.next(key);
    if (top.is_object) {
      put_line(sink_, key);
      sink_.raw(":");
    } else {
      sink_.raw("-");
    }
    value(node);
  }

  void value(const Node& node) {
    if (is_container(node)) {
      OpenContainer<Node> container(node);
      if (container.cursor.done()) {
        return sink_.raw(container.is_object ? " {}" : " []");
      }
      in_order_ = in_order_ && node.in_order();
      return open_.push_back(container);
    }
    if (node.kind() == NodeKind::string) {
      return string(node.text());
    }
    sink_.raw(" ");
    put_plain_scalar(node, sink_);
  }

  void string(const typename Node::Text& text) {
    if (without_end_newlines(text).empty()) {
      return sink_.raw(" \"\"");
    }
    if (!has_newline(text)) {
      sink_.raw(" ");
      return put_text(sink_, text);
    }
    sink_.raw("\n");
    const std::string indent(2 * std::min(open_.size(), kMaxIndent), ' ');
    put_prefixed(sink_, indent, without_end_newlines(text));
  }

  Sink& sink_;
  std::vector<OpenContainer<Node>> open_;
  bool in_order_ = true;
  bool at_start_ = true;
};

}  // namespace arborfs
