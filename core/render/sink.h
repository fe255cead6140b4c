// Where rendered text goes: into a string, into a count, or through a probe. One renderer serves all of them, so sizes
// are exact: the same code makes them.
//
// A sink has raw(bytes), which takes bytes as they are, and kFilters: false if text may be passed on unfiltered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/render/chars.h"

namespace arborfs {

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

}  // namespace arborfs
