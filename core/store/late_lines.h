// What other programs append to a log while it is written anew. pi and omp 13 take no lock: what they write between the
// copy and the rename, or to the old file behind it, would go with that file. So the old file stays open here, what
// came late is put behind the new one's end, and that ends when no process has the old file open for writing (a lease
// tells). Bytes are carried as they are, torn lines too. Between rename and carrying a crash loses what came in
// between, a few microseconds' worth; the old file has no name then.
//
// One object is used by one thread, under the log's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/store/session_store.h"

namespace arborfs {

class LateLines {
 public:
  /// Of the log that lies at `place` now. In a store without files nothing comes late.
  static Result<LateLines> of(SessionStore& store, const LogPlace& place);
  /// Of a file that somebody made anew by name after the log had gone from there: lines without a session's header. It
  /// gets another name, which it gives back unless it was carried over. Nothing where there is no such file.
  static std::optional<LateLines> of_stray(SessionStore& store, const LogPlace& place);
  LateLines(LateLines&& other) noexcept;
  LateLines& operator=(LateLines&&) = delete;
  ~LateLines();

  /// False in a store without files.
  [[nodiscard]] bool sees_files() const { return file_.has_value(); }
  /// A draft was just written from the log as far as `size`. Errors: stale when that is another log's.
  Result<void> note_copied(const FileStat& copied);
  /// The log has not been written since of(), and all of it was copied. Errors: stale.
  [[nodiscard]] Result<void> check_unchanged() const;
  /// Writes to the draft what was appended since it was copied. Errors: stale when the log changed otherwise.
  Result<void> catch_up(LogDraft& draft);
  /// Once the draft has the log's place at `to`, or the log's name is gone from elsewhere: puts behind the log there
  /// what was appended to the old file, until no process can write to that any more, or the patience is over, which the
  /// daemon's log tells. Errors: io, no_space: what came late is lost then, but for a stray's lines. `locks`: takes the
  /// log's lock there, if it can be had, for what comes late.
  Result<void> carry_over(const LogPlace& to, bool locks = false);
  /// What was carried over or caught up with is on the disk when it returns.
  Result<void> sync(const LogPlace& at);

 private:
  LateLines(SessionStore& store, std::optional<File> file) : store_(&store), file_(std::move(file)) {}
  [[nodiscard]] Result<void> check_grown() const;
  /// While a program writes a line, the file's size may lie inside it.
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
  std::string head_;  // then
  std::uint64_t taken_ = 0;
  std::string tail_;  // before taken_, once it was copied
  bool has_news_ = false;
  UniqueFd target_;  // the log at its new place
  std::unique_ptr<LogWriter> lock_;
  LogPlace stray_;     // where a stray lay
  std::string aside_;  // its name now, "" for none
};

}  // namespace arborfs
