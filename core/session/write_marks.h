// Records which writes to a log were arborfs' own. A log that arborfs created, or wrote last, is not a trace of an
// agent (CONTRACT.md 5.3). One small file per log in the state folder, so that another process, or the next mount,
// knows it too; a log without one counts as an agent's. Bounded in number and in age. Thread-safe; several processes
// may use the same folder.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/os/disk.h"

namespace arborfs {

class WriteMarks {
 public:
  /// `folder` is created when the first mark is kept; "" keeps none. `store_key` distinguishes stores. `disk` outlives
  /// it.
  WriteMarks(std::string folder, std::string store_key, Disk& disk);

  /// arborfs has just created this log.
  void note_made(const std::string& log_name, const FileStat& made);
  /// arborfs wrote to this log under its lock: `before` and `after` are its stats. Without `even_if_unmarked`, only an
  /// existing mark is updated. The last write to a log without a mark is remembered in memory, for this process: an
  /// agent that starts while arborfs writes may be noticed after the write. A failure only loses the mark.
  void note_written(const std::string& log_name, const FileStat& before, const FileStat& after, bool even_if_unmarked);
  /// When another program last wrote the log, in ns since 1970; nothing if none did since arborfs created it.
  [[nodiscard]] std::optional<std::int64_t> written_by_others(const std::string& log_name, const FileStat& now) const;

  static constexpr std::size_t kMost = 512;

 private:
  /// The log as arborfs left it. If its inode, size or mtime differs, another program wrote it.
  struct Mark {
    std::uint64_t ino = 0;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    std::int64_t others_ns = 0;  // when another program wrote it last; 0: never
    [[nodiscard]] bool is_of(const FileStat& st) const {
      return ino == st.ino && size == st.size && mtime_ns == st.mtime_ns;
    }
  };
  [[nodiscard]] std::optional<Mark> load(const std::string& log_name) const;
  static std::optional<Mark> read(const File& file);
  static std::string text_of(const Mark& mark);
  void create(const std::string& log_name, const Mark& mark);
  /// Overwrites the mark in place. A reader that sees a part of this, or of a write that a power cut ended, takes the
  /// log for one that an agent wrote. False if there is no mark, or it cannot be written.
  bool update(const std::string& log_name, const FileStat& before, const FileStat& after);
  /// When other programs had written the log before the remembered write, if `now` is what that write left; else its
  /// mtime.
  [[nodiscard]] std::int64_t others_before(const std::string& log_name, const FileStat& now) const;
  void remember(const std::string& log_name, const Mark& mark);
  const std::string folder_;
  const std::string store_key_;
  Disk& disk_;
  std::mutex mutex_;                      // one create() at a time; not a leaf
  mutable std::mutex unmarked_mutex_;     // a leaf
  std::map<std::string, Mark> unmarked_;  // by log name, at most kMost; guarded by unmarked_mutex_
};

}  // namespace arborfs
