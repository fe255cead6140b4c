// The text of the file `events`: one JSON line per change, from the mount on. A position in it always means the same
// bytes, as long as they are kept; the last kMostLines lines are. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "core/session/change_feed.h"

namespace arborfs {

class EventsText {
 public:
  static constexpr std::size_t kMostLines = ChangeFeed::kKept;

  explicit EventsText(const ChangeFeed& feed) : feed_(feed) {}

  /// Appends the changes that the feed has published; changes that the feed has dropped become one line with their
  /// number.
  void take_in();
  /// Where the kept bytes begin and end.
  [[nodiscard]] std::uint64_t begin() const;
  [[nodiscard]] std::uint64_t end() const { return end_; }
  /// The sequence number of the first kept change; of the next one if none is kept.
  [[nodiscard]] std::uint64_t first_change() const;
  /// The sequence number of the last change whose line ends at or before `position`, 0 if it is not kept.
  [[nodiscard]] std::uint64_t last_change_until(std::uint64_t position) const;
  /// Up to `size` bytes; "" at the end. Bytes that are no longer kept read as empty lines.
  [[nodiscard]] std::string read(std::uint64_t position, std::size_t size) const;

 private:
  struct Line {
    std::uint64_t end = 0;
    std::uint64_t first = 0;  // sequence numbers of the changes in this line
    std::uint64_t last = 0;
    std::string text;
  };
  using Lines = std::deque<Line>;
  void add(std::string text, std::uint64_t first, std::uint64_t last);
  [[nodiscard]] Lines::const_iterator line_at(std::uint64_t position) const;
  const ChangeFeed& feed_;
  Lines lines_;
  std::uint64_t end_ = 0;
  std::uint64_t taken_ = 0;  // sequence number of the last appended change
};

/// The line that replaces changes that were dropped.
std::string missed_line(std::uint64_t count);

}  // namespace arborfs
