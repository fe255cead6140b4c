// Carries over lines that other programs append to a log during its rewrite. pi and omp 13 take no lock: lines that
// they write between the copy and the rename, or to the old file after it, would be lost with that file. So the old
// file stays open here, and late lines are appended to the new file until no process has the old one open for writing
// (tested by a lease). Bytes are carried as they are, torn lines too. A crash between the rename and the carrying loses
// the lines in between, a few microseconds' worth; the old file has no name then.
//
// One object is used by one thread, under the log's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/store/log_writer.h"
#include "core/store/session_store.h"

namespace arborfs {

class LateLines {
 public:
  /// For the log that is at `place` now. In a store without files no line can come late.
  static Result<LateLines> of(SessionStore& store, const LogPlace& place);
  /// For a file that a program created by name after the log had moved away: lines without a session's header. The file
  /// is renamed, and gets its name back unless it is carried over. Nothing if there is no such file.
  static std::optional<LateLines> of_stray(SessionStore& store, const LogPlace& place);
  LateLines(LateLines&& other) noexcept;
  LateLines& operator=(LateLines&&) = delete;
  ~LateLines();

  /// False in a store without files.
  [[nodiscard]] bool sees_files() const { return file_.has_value(); }
  /// A draft was just written from the log up to the size in `copied`. Errors: stale if `copied` is of another file.
  Result<void> note_copied(const FileStat& copied);
  /// Succeeds if the log has not been written since of(), and all of it was copied. Errors: stale.
  [[nodiscard]] Result<void> check_unchanged() const;
  /// Writes the lines that were appended since the copy to the draft. Errors: stale if the log changed in another way.
  Result<void> catch_up(LogDraft& draft);
  /// Appends late lines to the log at `to`, which has replaced the old file or was moved there. Ends when no process
  /// can write to the old file any more, or after a limited wait, which the daemon's log then reports. `locks`: takes
  /// the lock of the log at `to`, if possible, before the first late line. Errors: io, no_space: late lines are lost
  /// then, except those of a stray.
  Result<void> carry_over(const LogPlace& to, bool locks = false);
  /// Syncs all lines that were carried over or caught up to the disk.
  Result<void> sync(const LogPlace& at);

 private:
  LateLines(SessionStore& store, std::optional<File> file) : store_(&store), file_(std::move(file)) {}
  [[nodiscard]] Result<void> check_grown() const;
  /// While a program writes a line, the file may end inside it.
  enum class Taken { whole_lines, all };
  template <class Put>
  Result<void> take_new(Taken taken, const Put& put);
  Result<void> open_target(const LogPlace& to);
  [[nodiscard]] Result<bool> ends_inside_line(const LogPlace& to) const;
  Result<void> carry_new(const LogPlace& to, Taken taken, bool locks);
  [[nodiscard]] bool becomes_closed() const;

  SessionStore* store_;
  std::optional<File> file_;
  FileStat stat_;     // at of()
  std::string head_;  // first bytes at of()
  std::uint64_t taken_ = 0;
  std::string tail_;  // bytes before taken_, known after the copy
  bool has_news_ = false;
  UniqueFd target_;  // the log at its new place
  std::unique_ptr<LogWriter> lock_;
  LogPlace stray_;     // original place of a stray
  std::string aside_;  // its name now, "" for none
};

}  // namespace arborfs
