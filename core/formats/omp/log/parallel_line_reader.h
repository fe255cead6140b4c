// Reads and parses the lines of a log ahead of the scan, on the scan's thread and, for a big log, a helper thread. It
// is only a shortcut: if a line is not found here for any reason (including lack of memory), the caller must read it in
// the ordinary way. Used by one thread.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/base/helper_thread.h"
#include "core/formats/omp/log/record_parser_simd.h"
#include "core/log/log_source.h"
#include "core/log/scan_observer.h"

namespace arborfs {

class ParallelLineReader {
 public:
  /// A line that is one plain record and nothing else.
  struct Line {
    RecordFields record;
    std::uint64_t next = 0;  // where the following line starts
    std::unique_ptr<ScanNotes> notes;
  };

  static constexpr std::size_t kStep = 256 * 1024;
  /// For fewer bytes, a helper would cost more than it saves.
  static constexpr std::uint64_t kHelpsFrom = 4 * kStep;

  /// Reads the lines of `log` from `begin`, which must be the start of a line, to `end`. `cancelled` and `noter` may be
  /// null. All pointers and references must outlive this object.
  ParallelLineReader(const LogSource& log, std::uint64_t begin, std::uint64_t end, const std::atomic<bool>* cancelled,
                     const ScanObserver* noter, std::size_t step = kStep);
  ~ParallelLineReader();
  ParallelLineReader(const ParallelLineReader&) = delete;
  ParallelLineReader& operator=(const ParallelLineReader&) = delete;

  /// The line that starts at `offset`; null if it is not known to be a plain record. `offset` must be at least `begin`
  /// and never less than in the previous call. The result is valid until the next call.
  const Line* line_at(std::uint64_t offset);

 private:
  static constexpr std::uint64_t kRing = kHelpsFrom / kStep;
  static constexpr std::uint64_t kNone = UINT64_MAX;

  /// The lines that start in one step of the log. Guarded by mutex_, except that the thread that fills a chunk, and
  /// line_at() for its current chunk, use `bytes` and `lines` without the lock.
  struct Chunk {
    std::uint64_t number = kNone;   // the step whose lines it holds
    bool is_busy = false;           // a thread is filling it
    std::unique_ptr<char[]> bytes;  // allocated when it is first filled
    std::vector<Line> lines;
  };

  [[nodiscard]] Chunk& chunk(std::uint64_t number) { return chunks_[number % kRing]; }
  [[nodiscard]] bool may_claim();
  void go_to(std::uint64_t number);
  void fill_next(SimdRecordParser& parser, std::unique_lock<std::mutex>& lock);
  void fill(Chunk& chunk, std::uint64_t number, SimdRecordParser& parser) const;
  void help();

  const LogSource& log_;
  const std::uint64_t begin_;
  const std::uint64_t end_;
  const std::atomic<bool>* const cancelled_;
  const ScanObserver* const noter_;
  const std::size_t step_;
  const std::uint64_t count_;  // number of steps

  SimdRecordParser parser_;        // for line_at()
  std::uint64_t current_ = kNone;  // the chunk that line_at() is in
  std::size_t at_ = 0;             // line_at()'s position in that chunk's lines

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Chunk, kRing> chunks_;
  std::uint64_t first_ = 0;             // earlier chunks are no longer needed; guarded by mutex_
  std::uint64_t next_ = 0;              // the first chunk that no thread has claimed; guarded by mutex_
  bool is_stopping_ = false;            // guarded by mutex_
  std::optional<HelperThread> helper_;  // last, so that it ends before the members that it uses are destroyed
};

}  // namespace arborfs
