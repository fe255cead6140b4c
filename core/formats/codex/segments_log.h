// The bytes of one thread: the segments with which its history begins, followed by the files of its own segments
// (codex/FORMAT.md C). Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/formats/codex/thread_table.h"
#include "core/log/log_source.h"

namespace arborfs::codex {

/// The facts about a thread apart from its records. Plain values; any thread.
struct ThreadFacts {
  std::optional<std::string> name;  // given by the user
  std::string parent;               // the thread that started it as a sub-agent, "" for none
  std::string active;               // the segment with which Codex goes on (C7); "" for the newest
  [[nodiscard]] bool is_empty() const { return !name && parent.empty() && active.empty(); }
};

// How copies of a thread's records are known in the threads that were forked from it or that it started: their times
// are new (codex/FORMAT.md C5, F4). Thread-safe.

/// The marks (RolloutRecord::mark) of all records of a thread.
using RecordMarks = std::unordered_set<std::uint64_t>;
using RecordMarksPtr = std::shared_ptr<const RecordMarks>;

/// Reads them when a log needs them, of the records as a filter shows them unless it is null; null if they cannot be
/// read.
using ReadMarks = std::function<RecordMarksPtr(const LogFilter* filter)>;

/// The marks of the threads that were read last.
class MarkCache {
 public:
  /// Of the thread with these segments, as they are now; null if one cannot be read. `home` is Codex's folder. All
  /// callers have the same filter, or none.
  RecordMarksPtr of(const std::string& home, const std::vector<SegmentFile>& segments, const LogFilter* filter);

 private:
  static constexpr std::size_t kMost = 16;
  std::mutex mutex_;
  std::list<std::pair<std::string, RecordMarksPtr>> known_;  // by the states of the segments; the last used is first
};

/// Where the history before a segment ends (codex/FORMAT.md C2).
struct HistoryBase {
  std::string segment;
  std::uint64_t end_ordinal = 0;  // exclusive
  std::uint64_t end_byte = 0;     // exclusive
};

/// The thread that started the one with this session_meta as a sub-agent; "" if none did.
std::string starter_in(std::string_view meta);

/// Another thread of which a thread continues the history, or that started it (codex/FORMAT.md A6, C5).
struct Relatives {
  std::string started_by;  // for a sub-agent
  std::string forked_from;
  std::string copied_from;  // the records of this thread begin the file, its session_meta first
};

/// How records of a segment are written (codex/FORMAT.md B3), by its first line.
enum class RolloutKind : std::uint8_t {
  none,  // that is no session_meta: Codex opens no such segment
  legacy,
  paginated,  // records have ordinals
};

struct SegmentHead {
  std::optional<HistoryBase> base;
  Relatives relatives;
  RolloutKind kind = RolloutKind::none;
  bool is_settled = false;  // false while Codex has not written the whole of it
};

/// The place of a segment in the history, from its first lines. Errors: io, stale.
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
  /// itself and may grow. `opened` is the thread's state. `thread` is its id, "" if only the records tell it;
  /// `source_marks` those of the thread of which it has copies, null for none.
  SegmentsLog(std::vector<Segment> segments, ThreadFacts facts, const FileStat& opened, std::string thread = "",
              ReadMarks source_marks = nullptr);

  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  [[nodiscard]] const ThreadFacts& facts() const { return facts_; }
  /// Null if it has no copies of another thread's records. May read that thread.
  [[nodiscard]] RecordMarksPtr source_marks() const { return source_marks_ ? source_marks_(filter_) : nullptr; }
  /// The thread's id, as `codex resume` looks it up (codex/FORMAT.md A7).
  [[nodiscard]] std::string_view place() const override { return thread_; }
  /// False if an own segment before the last one has been written to since, if the last one's first line was not whole,
  /// or if growth of the last one cannot be detected. Errors: io, stale.
  [[nodiscard]] Result<bool> grows_at_its_end() const;

  [[nodiscard]] Result<std::uint64_t> size() const override;
  [[nodiscard]] Result<FileStat> stat() const override;
  [[nodiscard]] Result<std::uint64_t> rough_size() const override;
  /// That of the first segment.
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> beginning(std::uint64_t bytes) const override;
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> through(const std::shared_ptr<const LogSource>& self,
                                                                 const LogFilter& filter) const override;
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override;
  [[nodiscard]] bool shows_images() const override { return filter_ == nullptr; }
  /// True if a segment is compressed. Its raw bytes are what it holds, since offsets count them (codex/FORMAT.md A3).
  [[nodiscard]] bool is_decoded() const override;
  [[nodiscard]] bool can_grow() const override;
  [[nodiscard]] std::uint64_t raw_size() const override;
  /// Null unless the thread is one file.
  [[nodiscard]] std::shared_ptr<const File> splice_file() const override;

 private:
  [[nodiscard]] const Segment& at(std::uint64_t offset) const;
  std::vector<Segment> segments_;  // never empty
  const ThreadFacts facts_;
  const std::string thread_;
  const ReadMarks source_marks_;
  // Of a log that a filter shows; else null.
  std::shared_ptr<const LogSource> as_it_is_;
  const LogFilter* filter_ = nullptr;
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

/// Opens segments for one task, each file and each folder once. Used by one thread.
class SegmentOpener {
 public:
  enum class Use : std::uint8_t {
    once,     // the files are read now and closed; of compressed ones only the first line is there
    lasting,  // they stay open, and give their descriptors to others when those become scarce
  };
  /// `home` is Codex's folder.
  SegmentOpener(std::string home, Use use);

  /// The same object for the same segment until let_go(). A compressed one is decoded. Errors: those of LogFile and
  /// ZstdLog.
  Result<std::shared_ptr<const LogSource>> open(const SegmentFile& file);
  /// Forgets the files, not the folder that was opened last.
  void let_go() { files_.clear(); }

 private:
  [[nodiscard]] Result<void> go_to(const std::string& folder);
  const std::string home_;
  const Use use_;
  std::string folder_;                                                       // below home_
  std::optional<Dir> dir_;                                                   // of folder_
  std::unordered_map<std::string, std::shared_ptr<const LogSource>> files_;  // by segment
};

}  // namespace arborfs::codex
