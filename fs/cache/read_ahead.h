// Stores the bytes of entries and texts in the kernel's page cache before a sequential reader asks for them, which
// saves two or three requests a file. Only content that never changes is stored, and only while its log is unchanged
// since it was indexed. At most kMostBytes ahead of a reader, and less for one that has just begun, so that unread
// bytes cost little; the kernel may evict them at any time and then asks as usual.
//
// The kernel may make the thread wait until reads in progress are answered, so it must be stopped while requests are
// still served. note() and note_listed() may be called by any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fs/cache/sequential_readers.h"
#include "fs/tree/mount_state.h"

namespace arborfs {

class ReadAhead {
 public:
  static constexpr std::uint64_t kLongestFile = 128 << 10;  // the kernel reads ahead in longer ones by itself
  static constexpr std::uint64_t kMostBytes = 8 << 20;      // of the log, ahead of a reader
  /// Stores all bytes of a file in the kernel's cache; false if the kernel does not know the file, or is gone. Called
  /// only by the thread.
  using Store = std::function<bool(NodeId node, std::string_view bytes)>;

  /// Starts the thread. `state` outlives it.
  ReadAhead(MountState& state, Store store);
  /// As stop().
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// The kernel asked for the first bytes of a file.
  void note(NodeId node);
  /// The kernel was sent names in entries/ or text/, up to that of entry `last`; kNoEntry: to the end.
  void note_listed(NodeId folder, bool is_from_start, Ordinal last);
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
    bool is_at_end = false;  // it ends where the folder ends
    const RecordRenderer* renderer = nullptr;
    std::shared_ptr<const LogSource> log;
    FileStat log_stat;
    std::vector<File> files;
  };
  template <class Next>
  void want(Next next);
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
  const Store store_;
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
