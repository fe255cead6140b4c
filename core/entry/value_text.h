// Any JSON value as text, as pretty JSON and as an outline that is easier to read (strings with newlines as lines), and
// where rendered text goes: into a string, into a count, or through a probe. One renderer serves all of them, so sizes
// are exact: the same code makes them. Iterative, so nesting uses no stack.
//
// print() returns false if the node's members are not in JSON.parse's order (FastNode::in_order): the sink's content
// must then be discarded.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry/text.h"
#include "core/json/document.h"

namespace arborfs {

/// A sink has raw(bytes), which takes bytes as they are, and kFilters: false if text may be passed on unfiltered.
class StringSink {
 public:
  static constexpr bool kFilters = true;
  explicit StringSink(std::string& out) : out_(out), start_(out.size()) {}
  void raw(std::string_view bytes) { out_.append(bytes); }
  void rewind() { out_.resize(start_); }

 private:
  std::string& out_;
  std::size_t start_;
};

class CountingSink {
 public:
  static constexpr bool kFilters = true;
  void raw(std::string_view bytes) { size_ += bytes.size(); }
  void count(std::uint64_t bytes) { size_ += bytes; }
  void rewind() { size_ = 0; }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  std::uint64_t size_ = 0;
};

/// Keeps the first bytes only.
class HeadSink {
 public:
  static constexpr bool kFilters = false;
  explicit HeadSink(std::size_t limit) : limit_(limit) {}
  void raw(std::string_view bytes) { head_.append(bytes.substr(0, limit_ - std::min(limit_, head_.size()))); }
  void rewind() { head_.clear(); }
  [[nodiscard]] const std::string& head() const { return head_; }

 private:
  std::size_t limit_;
  std::string head_;
};

/// Finds the longest run of backticks.
class FenceProbe {
 public:
  static constexpr bool kFilters = false;
  void raw(std::string_view bytes) {
    std::size_t at = 0;
    while (at < bytes.size()) {
      if (bytes[at] == '`') {
        longest_ = std::max(longest_, ++run_);
        ++at;
        continue;
      }
      run_ = 0;
      at = std::min(bytes.find('`', at), bytes.size());
    }
  }
  /// A fence that nothing seen so far can close.
  [[nodiscard]] std::string fence() const { return std::string(std::max<std::size_t>(3, longest_ + 1), '`'); }

 private:
  std::size_t run_ = 0;
  std::size_t longest_ = 0;
};

template <class Policy, class Sink>
void put_filtered(Sink& sink, std::string_view wtf8) {
  if constexpr (Sink::kFilters) {
    chars::scan<Policy>(wtf8, [&sink](std::string_view piece) { sink.raw(piece); });
  } else {
    sink.raw(wtf8);
  }
}

/// Puts text and keeps its lines.
template <class Sink>
void put_text(Sink& sink, std::string_view wtf8) {
  put_filtered<chars::TextPolicy>(sink, wtf8);
}

/// Puts text on one line.
template <class Sink>
void put_line(Sink& sink, std::string_view wtf8) {
  put_filtered<chars::LinePolicy>(sink, wtf8);
}

template <class Sink>
void put_json_string(Sink& sink, std::string_view wtf8) {
  sink.raw("\"");
  put_filtered<chars::JsonPolicy>(sink, wtf8);
  sink.raw("\"");
}

/// Puts each line after `prefix`, and an empty line after `prefix` without its trailing spaces.
template <class Sink>
void put_prefixed(Sink& sink, std::string_view prefix, std::string_view wtf8) {
  const std::string_view bare = prefix.substr(0, prefix.find_last_not_of(' ') + 1);
  std::size_t at = 0;
  while (true) {
    const std::size_t end = std::min(wtf8.find('\n', at), wtf8.size());
    sink.raw(end == at ? bare : prefix);
    put_text(sink, wtf8.substr(at, end - at));
    if (end == wtf8.size()) {
      return;
    }
    sink.raw("\n");
    at = end + 1;
  }
}

/// The same without a loop over the lines, which would take longer than all the rest.
inline void put_prefixed(CountingSink& sink, std::string_view prefix, std::string_view wtf8) {
  const chars::LineCount lines = chars::count_lines(wtf8);
  const std::size_t bare = prefix.find_last_not_of(' ') + 1;
  sink.count((lines.all - lines.empty) * prefix.size() + lines.empty * bare);
  put_text(sink, wtf8);
}

/// Prefixes and newlines do not affect backticks, except that they end a run of them.
inline void put_prefixed(FenceProbe& sink, std::string_view, std::string_view wtf8) {
  sink.raw("\n");
  sink.raw(wtf8);
}

inline std::string_view without_end_newlines(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

inline bool has_newline(std::string_view text) {
  return text.find('\n') != std::string_view::npos;
}

/// JSON values as the renderer sees them: one interface over simdjson's DOM, which is fast and strict, and over
/// json::Document, which accepts everything that the agents accept. Both give the same answers for the same text,
/// except for objects that JSON.parse would reorder: see in_order(). A node is valid as long as the document behind it.
enum class NodeKind : std::uint8_t { missing, null, boolean, number, string, array, object };

class FastNode {
 public:
  using Text = std::string_view;

  FastNode() = default;
  explicit FastNode(simdjson::dom::element element) : element_(element), kind_(kind_of(element.type())) {}

  [[nodiscard]] NodeKind kind() const { return kind_; }
  [[nodiscard]] std::string_view text() const { return element_.get_string().value_unsafe(); }
  [[nodiscard]] bool boolean() const { return element_.get_bool().value_unsafe(); }
  [[nodiscard]] double number() const;
  /// The last member of that name, as in JSON.parse; missing if this is not an object.
  [[nodiscard]] FastNode member(std::string_view key) const;
  /// False if JSON.parse might give the members in another order, or fewer of them.
  [[nodiscard]] bool in_order() const;

  /// Visits the elements of an array or an object once.
  class Cursor {
   public:
    explicit Cursor(const FastNode& node);
    [[nodiscard]] bool done() const { return is_object_ ? !(member_ != members_end_) : !(item_ != items_end_); }
    /// The next value; `key` is set for members.
    FastNode next(std::string_view& key);

   private:
    bool is_object_;
    simdjson::dom::object::iterator member_, members_end_;
    simdjson::dom::array::iterator item_, items_end_;
  };

 private:
  static NodeKind kind_of(simdjson::dom::element_type type);
  simdjson::dom::element element_;
  NodeKind kind_ = NodeKind::missing;
};

class SlowNode {
 public:
  using Text = std::string_view;

  SlowNode() = default;
  explicit SlowNode(const json::Value* value) : value_(value) {}

  [[nodiscard]] NodeKind kind() const;
  [[nodiscard]] std::string_view text() const { return json::as_string(*value_); }
  [[nodiscard]] bool boolean() const { return value_->IsTrue(); }
  [[nodiscard]] double number() const { return value_->GetDouble(); }
  [[nodiscard]] SlowNode member(std::string_view key) const {
    return value_ != nullptr ? SlowNode(json::member(*value_, key)) : SlowNode();
  }
  [[nodiscard]] bool in_order() const { return true; }

  class Cursor {
   public:
    explicit Cursor(const SlowNode& node);
    [[nodiscard]] bool done() const { return at_ == size_; }
    SlowNode next(std::string_view& key);

   private:
    const json::Value* value_;
    std::size_t at_ = 0;
    std::size_t size_;
  };

 private:
  const json::Value* value_ = nullptr;
};

/// Levels at which indentation stops growing, which bounds the output by a small multiple of the input.
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
