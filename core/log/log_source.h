// The bytes of one session, and the window through which they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/os/file.h"

namespace arborfs {

class LogSource;

/// Shows logs and what stands beside them otherwise than they are. Thread-safe; outlives the logs that it returns.
class LogFilter {
 public:
  virtual ~LogFilter() = default;
  /// The part of `file` before `end`, as it is shown.
  [[nodiscard]] virtual std::shared_ptr<const LogSource> file(std::shared_ptr<const LogSource> file,
                                                              std::uint64_t end) const = 0;
  [[nodiscard]] virtual std::string text(std::string_view text) const = 0;
};

/// The bytes of one session as one space of offsets. A file is the usual source (log_file.h); a format whose sessions
/// are not single files has a source of its own. Thread-safe.
class LogSource {
 public:
  virtual ~LogSource() = default;
  LogSource(const LogSource&) = delete;
  LogSource& operator=(const LogSource&) = delete;

  /// Identity and version of the session when it was opened: of a file, its stat. A store's stat() of the same state is
  /// equal.
  [[nodiscard]] const FileStat& opened() const { return opened_; }
  /// How many bytes can be read now; grows with a file.
  [[nodiscard]] virtual Result<std::uint64_t> size() const = 0;
  /// About as many, for a caller that needs only the beginning: never reads the log through.
  [[nodiscard]] virtual Result<std::uint64_t> rough_size() const { return size(); }
  /// About the first `bytes` of it, from which no offsets are kept: names of sessions are made of it. This outlives the
  /// result.
  [[nodiscard]] virtual Result<std::shared_ptr<const LogSource>> beginning(std::uint64_t bytes) const;
  /// Identity and version now.
  [[nodiscard]] virtual Result<FileStat> stat() const = 0;
  /// Reads until `into` is full or the bytes end; returns how many were read. Errors: io; stale once the state that
  /// was opened can no longer be read.
  [[nodiscard]] virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const = 0;
  /// Exactly these bytes; `stale` if the source does not have them any more.
  [[nodiscard]] Result<std::string> read(std::uint64_t offset, std::uint64_t length) const;
  /// The session's data outside of these bytes, as it was when the session was opened: the text of a metadata file.
  /// Nothing if there is none.
  [[nodiscard]] virtual std::optional<std::string_view> metadata() const { return std::nullopt; }
  /// False if that may have changed since, while these bytes only grew: only a newly opened source shows it then. May
  /// look at the disk.
  [[nodiscard]] virtual bool has_current_metadata() const { return true; }
  /// As opened(), of these bytes alone.
  [[nodiscard]] virtual FileStat opened_bytes() const { return opened(); }
  /// An open file with the same offsets, for splicing; null if there is none.
  [[nodiscard]] virtual std::shared_ptr<const File> splice_file() const { return nullptr; }
  /// The log `self`, which is this one, as `filter` shows it, if it consists of several files; null for any other log.
  /// Errors: io, stale.
  [[nodiscard]] virtual Result<std::shared_ptr<const LogSource>> through(
      const std::shared_ptr<const LogSource>& /*self*/, const LogFilter& /*filter*/) const {
    return std::shared_ptr<const LogSource>();
  }
  /// The log that was opened, if this one shows only a part of it.
  [[nodiscard]] virtual const LogSource& whole() const { return *this; }
  /// The names by which its store finds the session: "<folder>/<file>" of a file, else the session's own name; "" if it
  /// was not opened from a store. For agents that identify a session by them.
  [[nodiscard]] virtual std::string_view place() const { return ""; }
  /// The session's working directory, for a log by which its agent's rules for it cannot be followed: they compare the
  /// names of folders, which are not as they were. Nothing for any other log. May read the log.
  [[nodiscard]] virtual std::optional<std::string> told_cwd() const { return std::nullopt; }
  /// False if images in it, or that it refers to, are not shown.
  [[nodiscard]] virtual bool shows_images() const { return true; }
  /// True if the offsets are not those of the bytes on disk, because these are decoded or composed.
  [[nodiscard]] virtual bool is_decoded() const { return false; }
  /// False if what is appended on disk, or was changed there, shows only when the log is opened again. May look at the
  /// disk.
  [[nodiscard]] virtual bool can_grow() const { return !is_decoded(); }
  /// How many bytes raw.jsonl has of a log that is_decoded(): by default, those on disk when it was opened.
  [[nodiscard]] virtual std::uint64_t raw_size() const { return opened().size; }
  /// As read_at, but returns the bytes of raw.jsonl even if is_decoded(): by default, those on disk.
  [[nodiscard]] virtual Result<std::size_t> read_raw_at(std::uint64_t offset, std::span<char> into) const {
    return read_at(offset, into);
  }

 protected:
  explicit LogSource(const FileStat& opened) : opened_(opened) {}

 private:
  const FileStat opened_;
};

/// Receives the next bytes of a copy.
using ByteSink = std::function<Result<void>(std::string_view bytes)>;

/// Passes the log's bytes from `from` up to `end` to `write`, in steps. Errors: stale, io, those of `write`.
Result<void> copy_bytes(const LogSource& log, std::uint64_t from, std::uint64_t end, const ByteSink& write);

/// The last name in LogSource::place(), without its ending.
std::string_view stem_of_place(std::string_view place);

/// A source over bytes in memory.
std::shared_ptr<const LogSource> log_from_bytes(std::string bytes);
/// The same for a session that was in this state when its bytes were composed.
std::shared_ptr<const LogSource> log_from_bytes(std::string bytes, const FileStat& opened);

/// A log source that shows another one, for classes that change a part of it.
class ForwardingLog : public LogSource {
 public:
  [[nodiscard]] Result<std::uint64_t> size() const override { return log_.size(); }
  [[nodiscard]] Result<FileStat> stat() const override { return log_.stat(); }
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override {
    return log_.read_at(offset, into);
  }
  [[nodiscard]] std::optional<std::string_view> metadata() const override { return log_.metadata(); }
  [[nodiscard]] bool has_current_metadata() const override { return log_.has_current_metadata(); }
  [[nodiscard]] FileStat opened_bytes() const override { return log_.opened_bytes(); }
  [[nodiscard]] std::shared_ptr<const File> splice_file() const override { return log_.splice_file(); }
  [[nodiscard]] const LogSource& whole() const override { return log_.whole(); }
  [[nodiscard]] std::string_view place() const override { return log_.place(); }
  [[nodiscard]] std::optional<std::string> told_cwd() const override { return log_.told_cwd(); }
  [[nodiscard]] bool shows_images() const override { return log_.shows_images(); }
  [[nodiscard]] bool is_decoded() const override { return log_.is_decoded(); }
  [[nodiscard]] bool can_grow() const override { return log_.can_grow(); }
  [[nodiscard]] std::uint64_t raw_size() const override { return log_.raw_size(); }
  [[nodiscard]] Result<std::size_t> read_raw_at(std::uint64_t offset, std::span<char> into) const override {
    return log_.read_raw_at(offset, into);
  }

 protected:
  /// `log` outlives it.
  explicit ForwardingLog(const LogSource& log) : LogSource(log.opened()), log_(log) {}
  [[nodiscard]] const LogSource& log() const { return log_; }

 private:
  const LogSource& log_;
};

/// A sliding window over a log, through which the scanner reads all bytes. It reuses one buffer, which grows only when
/// a caller asks for a longer contiguous view. Used by one thread.
class LogWindow {
 public:
  /// Bytes that are readable, but meaningless, after every view (simdjson reads that far).
  static constexpr std::size_t kPadding = 64;
  /// How much is read at a time; for a small log, the buffer is no larger than the log.
  static constexpr std::size_t kStep = 256 * 1024;

  /// A window over the bytes of `log` before `end`. Each read first checks `stop`. `log` must outlive the window.
  LogWindow(const LogSource& log, std::uint64_t end, const std::stop_token& stop = {}, std::size_t step = kStep);

  /// The bytes in memory from `offset` on, at least `want` unless the log ends before. Valid until the next call.
  /// Errors: io, interrupted.
  Result<std::string_view> view(std::uint64_t offset, std::size_t want);

  /// Where the log ends for this window: as passed in, or earlier if the log was truncated since.
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] const std::stop_token& stop() const { return stop_; }

 private:
  Result<void> fill(std::uint64_t offset, std::size_t want);
  void make_room(std::size_t keep_from, std::size_t kept, std::size_t capacity);

  const LogSource& log_;
  std::uint64_t end_;
  std::stop_token stop_;
  std::size_t step_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::uint64_t start_ = 0;  // the buffer's first byte, as an offset in the log
  std::size_t length_ = 0;   // bytes of the log in the buffer
};

}  // namespace arborfs
