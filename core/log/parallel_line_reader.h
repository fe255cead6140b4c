// Reads and parses the lines of a log before the scan reaches them; on a big log, on the scan's thread and a helper. A
// shortcut only: a line that is not found here, for whatever reason (a lack of memory too), is to be read in the
// ordinary way. Used by one thread.
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
#include "core/log/log_file.h"
#include "core/log/record_parser_dom.h"
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
  /// With less to read a helper would cost more than it does.
  static constexpr std::uint64_t kHelpsFrom = 4 * kStep;

  /// For the lines of `log` from `begin`, where one starts, to `end`. `cancelled` and `noter` may be null. All must
  /// outlive it.
  ParallelLineReader(const LogFile& log, std::uint64_t begin, std::uint64_t end, const std::atomic<bool>* cancelled,
                     const ScanObserver* noter, std::size_t step = kStep);
  ~ParallelLineReader();
  ParallelLineReader(const ParallelLineReader&) = delete;
  ParallelLineReader& operator=(const ParallelLineReader&) = delete;

  /// The line that starts at `offset`, which is `begin` or after and never less than before; null when it was not found
  /// to be a plain record. Lives until the next call.
  const Line* line_at(std::uint64_t offset);

 private:
  static constexpr std::uint64_t kRing = kHelpsFrom / kStep;
  static constexpr std::uint64_t kNone = UINT64_MAX;

  /// The lines that start in one step of the log; guarded by mutex_ but for who is busy with it, or is at it.
  struct Chunk {
    std::uint64_t number = kNone;   // of the step whose lines it holds
    bool is_busy = false;           // somebody fills it
    std::unique_ptr<char[]> bytes;  // made when it is first filled
    std::vector<Line> lines;
  };

  [[nodiscard]] Chunk& chunk(std::uint64_t number) { return chunks_[number % kRing]; }
  [[nodiscard]] bool may_claim();
  void go_to(std::uint64_t number);
  void fill_next(DomRecordParser& parser, std::unique_lock<std::mutex>& lock);
  void fill(Chunk& chunk, std::uint64_t number, DomRecordParser& parser) const;
  void help();

  const LogFile& log_;
  const std::uint64_t begin_;
  const std::uint64_t end_;
  const std::atomic<bool>* const cancelled_;
  const ScanObserver* const noter_;
  const std::size_t step_;
  const std::uint64_t count_;  // of steps

  DomRecordParser parser_;         // of line_at()
  std::uint64_t current_ = kNone;  // the chunk that line_at() is at
  std::size_t at_ = 0;             // its lines before have been passed

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Chunk, kRing> chunks_;
  std::uint64_t first_ = 0;             // chunks before are not wanted any more; guarded by mutex_
  std::uint64_t next_ = 0;              // the first that nobody has claimed; guarded by mutex_
  bool is_stopping_ = false;            // guarded by mutex_
  std::optional<HelperThread> helper_;  // last, so that it ends before what it uses
};

}  // namespace arborfs
