// Stores the bytes of entries and texts in the kernel's page cache before a sequential reader asks for them, which
// saves two or three requests a file. Only content that never changes is stored, and only while its log is unchanged
// since it was indexed. At most kMostBytes ahead of a reader, and less for one that has just begun, so that unread
// bytes cost little; the kernel may evict them at any time and then asks as usual.
//
// The kernel may make the thread wait until reads in progress are answered, so it must be stopped while requests are
// still served. note() may be called by any thread.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/log/log_index.h"
#include "fs/nodes/mount_state.h"
#include "fs/nodes/node_id.h"

namespace arborfs {

/// Consecutive files of one folder: ordinals from `first` on, each `step` from the one before.
struct ReadAheadRange {
  NodeId folder;  // kind and slot of its files, item 0
  Ordinal first = kNoEntry;
  int step = 1;  // or -1
  std::uint32_t count = 0;
  Ordinal reader = kNoEntry;  // where the reader was last
  std::size_t walk = 0;       // the reader's place in walks_

  [[nodiscard]] Ordinal nth(std::uint32_t n) const {
    return static_cast<Ordinal>(static_cast<std::int64_t>(first) + step * static_cast<std::int64_t>(n));
  }
};

/// Detects readers that go through entries/ or text/ in order, and predicts which files they read next. Its input is
/// the sequence of files that the kernel asks for, which are those whose bytes it has not cached. One file in the
/// middle of a predicted stretch, the marker, must not be prefetched: the kernel will ask for it, which shows how far
/// the reader has come while there is still time to prefetch more. Used by one thread at a time.
class SequentialReaders {
 public:
  static constexpr std::size_t kMost = 8;         // readers that are tracked at a time
  static constexpr std::int64_t kNear = 6;        // several threads of one reader are not quite in order
  static constexpr std::uint32_t kSure = 3;       // this many files in a row make a walk
  static constexpr std::int64_t kFirstLead = 32;  // files ahead of the reader; doubled at each marker that it reaches
  static constexpr std::int64_t kLongestLead = 2048;
  static constexpr std::int64_t kApart = 256;  // least distance between markers that the reader has not reached

  /// The kernel asked for the bytes of an entry or a text.
  std::optional<ReadAheadRange> note(NodeId node);
  /// A stretch is about to be prefetched. Returns its marker; kNoEntry for none.
  Ordinal mark(const ReadAheadRange& stretch);
  /// Only the first `count` files of a stretch are prefetched, and no later prediction for its walk.
  void cut(const ReadAheadRange& stretch, std::uint32_t count);

 private:
  struct Walk {
    NodeId folder;  // no node: unused
    Ordinal at = kNoEntry;
    int step = 0;
    std::uint32_t in_a_row = 1;
    std::int64_t lead = 0;         // 0: nothing was predicted yet
    std::int64_t end = 0;          // the last predicted file
    std::vector<Ordinal> markers;  // in the order of the walk
    std::uint64_t used = 0;
  };
  static bool is_on(const Walk& walk, NodeId folder, Ordinal ordinal);
  std::size_t walk_at(NodeId folder, Ordinal ordinal);
  Walk* walk_of(std::size_t number, NodeId folder, int step);
  static void begin(Walk& walk, Ordinal at);
  static bool goes_on(Walk& walk, Ordinal ordinal);
  static bool takes_marker(Walk& walk, Ordinal ordinal);
  std::optional<ReadAheadRange> lead_on(std::size_t walk, std::int64_t to);

  std::array<Walk, kMost> walks_{};
  std::uint64_t uses_ = 0;
};

class ReadAhead {
 public:
  static constexpr std::uint64_t kLongestFile = 128 << 10;  // the kernel reads ahead in longer ones by itself
  static constexpr std::uint64_t kMostBytes = 8 << 20;      // of the log, ahead of a reader
  /// Stores all bytes of a file in the kernel's cache; false if the kernel does not know the file, or is gone. Called
  /// only by the thread.
  using Keep = std::function<bool(NodeId node, std::string_view bytes)>;

  /// Starts the thread. `state` outlives it.
  ReadAhead(MountState& state, Keep keep);
  /// As stop().
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// The kernel asked for the first bytes of a file.
  void note(NodeId node);
  void stop();
  /// True while files that were noticed are not stored yet.
  [[nodiscard]] bool is_busy();

 private:
  struct Run;
  /// The files of a stretch, copied from the index at one state of the log.
  struct Files {
    struct File {
      NodeId node;
      Entry entry;
      std::uint64_t size = 0;
    };
    ReadAheadRange stretch;  // as far as files exist
    const RecordRenderer* renderer = nullptr;
    std::shared_ptr<const LogSource> log;
    FileStat log_stat;
    std::vector<File> files;
  };
  void run();
  void hand_over(const ReadAheadRange& stretch);
  [[nodiscard]] Files files_of(const ReadAheadRange& stretch) const;
  void leave_out_marker(Files& files);
  void cut(const ReadAheadRange& stretch, std::uint32_t count);
  std::size_t hand_over(const Files& files);
  static Run run_from(const Files& files, std::size_t first);
  bool read(const Files& files, const Run& run);
  bool hand_over_one(const Files& files, const Files::File& file, std::string_view raw);
  bool is_stopping();

  MountState& state_;
  const Keep keep_;
  std::string raw_;  // used only by the thread, as is text_
  std::string text_;
  std::mutex mutex_;  // leaf
  std::condition_variable wake_;
  SequentialReaders readers_;           // guarded by mutex_
  std::vector<ReadAheadRange> wanted_;  // oldest first; guarded by mutex_
  bool is_working_ = false;             // guarded by mutex_
  bool stopping_ = false;               // guarded by mutex_
  std::thread thread_;
};

}  // namespace arborfs
