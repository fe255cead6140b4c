// Hands the kernel the bytes of entries and texts before they are asked for, where a reader goes through them in order:
// two or three requests a file are spared. Only what never changes is handed over, and only while its log looks
// as it did when it was indexed. At most kMostBytes ahead of a reader, and more the further it has come, so that
// bytes that nobody reads cost little; the kernel may let go of it at any time, and asks as ever.
//
// The kernel may make its thread wait until reads in progress are answered, so it must be stopped while they still are.
// note() and note_listed() may be called by any thread.
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
  static constexpr std::uint64_t kLongestFile = 128 << 10;  // longer ones the kernel reads ahead by itself
  static constexpr std::uint64_t kMostBytes = 8 << 20;      // of the log, before a reader
  /// Hands all bytes of a file to the kernel; false when it does not know the file, or is gone. Called by the thread
  /// alone.
  using Store = std::function<bool(NodeId node, std::string_view bytes)>;

  /// Starts the thread. `state` outlives it.
  ReadAhead(MountState& state, Store store);
  /// As stop().
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// The kernel asked for the first bytes of a file.
  void note(NodeId node);
  /// The kernel is told what is in entries/ or text/: the names up to that of an entry, or of kNoEntry, the end.
  void note_listed(NodeId folder, bool is_from_start, Ordinal last);
  void stop();
  /// Something was noticed that is not handed over yet.
  [[nodiscard]] bool is_busy();

 private:
  struct Run;
  /// What there is of a stretch, copied from the index at one state of the log.
  struct Files {
    struct File {
      NodeId node;
      Entry entry;
      std::uint64_t size = 0;
    };
    ReadAheadRange stretch;  // as far as it goes
    bool is_at_end = false;  // of the folder
    std::shared_ptr<const LogFile> log;
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
  bool hand_over_one(const Files::File& file, std::string_view raw);
  bool is_stopping();

  MountState& state_;
  const Store store_;
  std::string raw_;  // used by the thread alone, as is text_
  std::string text_;
  std::mutex mutex_;  // leaf
  std::condition_variable wake_;
  SequentialReaders readers_;           // guarded by mutex_
  std::vector<ReadAheadRange> wanted_;  // in the order of their coming; guarded by mutex_
  bool is_working_ = false;             // guarded by mutex_
  bool stopping_ = false;               // guarded by mutex_
  std::thread thread_;
};

}  // namespace arborfs
