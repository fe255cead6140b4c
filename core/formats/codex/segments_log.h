// The bytes of one thread: the segments with which its history begins, followed by the files of its own segments
// (codex/FORMAT.md C). Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/codex/thread_facts.h"
#include "core/log/log_source.h"

namespace arborfs::codex {

/// Where the history before a segment ends (codex/FORMAT.md C2).
struct HistoryBase {
  std::string segment;
  std::uint64_t end_ordinal = 0;  // exclusive
  std::uint64_t end_byte = 0;     // exclusive
};

/// The base in the first line of a segment; nothing if there is none.
std::optional<HistoryBase> base_in(std::string_view first_line);

struct SegmentHead {
  std::optional<HistoryBase> base;
  bool is_settled = false;  // false while Codex has not written the whole first line
};

/// The place of a segment in the history, from its first line. Errors: io, stale.
Result<SegmentHead> read_head(const LogSource& file);

struct Segment {
  std::string id;
  SegmentHead head;    // when the thread was opened
  bool is_own = true;  // of the thread, not of the one that it was forked from
  std::shared_ptr<const LogSource> file;
  std::uint64_t length = 0;  // bytes of the file that belong to the thread; of the last segment, when it was opened
  std::uint64_t start = 0;   // in the bytes of the thread; set by SegmentsLog
};

class SegmentsLog final : public LogSource {
 public:
  /// `segments` are those of a thread, each base before the segments based on it; the last one belongs to the thread
  /// itself and may grow. `opened` is the thread's state.
  SegmentsLog(std::vector<Segment> segments, ThreadFacts facts, const FileStat& opened);

  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  [[nodiscard]] const ThreadFacts& facts() const { return facts_; }
  /// False if an own segment before the last one has been written to since, if the last one's first line was not whole,
  /// or if growth of the last one cannot be detected. Errors: io, stale.
  [[nodiscard]] Result<bool> grows_at_its_end() const;

  [[nodiscard]] Result<std::uint64_t> size() const override;
  [[nodiscard]] Result<FileStat> stat() const override;
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override;
  /// Null unless the thread is one file.
  [[nodiscard]] std::shared_ptr<const File> splice_file() const override;

 private:
  [[nodiscard]] const Segment& at(std::uint64_t offset) const;
  std::vector<Segment> segments_;  // never empty
  const ThreadFacts facts_;
};

/// One file as part of a thread's state: the identity and times of a thread are derived from those of its own files.
class ThreadStat {
 public:
  /// In the order of the segments. `length`: the number of its bytes that belong to the thread.
  void add(const FileStat& file, std::uint64_t length, bool is_own);
  [[nodiscard]] FileStat of_thread(const ThreadFacts& facts) const;

 private:
  FileStat stat_;
  std::uint64_t identity_ = 0;
  std::size_t files_ = 0;
};

}  // namespace arborfs::codex
