// Logs without their secrets (core/redact): a step between the bytes of a log and everything that reads them, so that
// all that is made of the log, and its size, is of what is shown. Thread-safe.
//
// A log is read line by line. Each line becomes a line of JSON in which labels stand for secrets; one that is no JSON,
// or too long to be scanned, becomes "[redacted:unscanned]", which is no JSON. An end without a line feed is shown once
// it is JSON. The lines are kept in a nameless temporary file, as those of a compressed log are (zstd_log.h).
//
// What a log has when it is read first is read twice if it has secrets, so that those are taken everywhere that show
// only later what they are. What is appended is read alone, and no line that was shown changes: a reader may keep its
// place. The same log always becomes the same lines, with the labels of the Redactor.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "core/log/log_source.h"
#include "core/redact/redactor.h"

namespace arborfs {

class RedactedBytes;

/// Shows logs so. What was made of a file is shared by all that open it. Owned by a shared_ptr, which the logs keep.
class LogRedaction final : public LogFilter, public std::enable_shared_from_this<LogRedaction> {
 public:
  /// Longer lines are left out.
  static constexpr std::uint64_t kLongestLine = std::uint64_t{16} << 20U;

  explicit LogRedaction(const redact::RulesPtr& rules);
  ~LogRedaction() override;

  /// The whole log. `cwd`: LogSource::told_cwd of it.
  using TellCwd = std::function<std::optional<std::string>()>;
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> log(const std::shared_ptr<const LogSource>& log,
                                                             TellCwd cwd) const;
  [[nodiscard]] std::shared_ptr<const LogSource> file(std::shared_ptr<const LogSource> file,
                                                      std::uint64_t end) const override;
  /// The first lines of `log`, at most `bytes` of it, by themselves. Errors: io, stale, interrupted.
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> beginning(const LogSource& log, std::uint64_t bytes) const;
  /// By itself; JSON stays JSON.
  [[nodiscard]] std::string text(std::string_view text) const override;

  /// How many different secrets were taken so far, by rule.
  [[nodiscard]] std::map<std::string, std::uint64_t> secrets() const;
  /// How many lines of logs were left out so far.
  [[nodiscard]] std::uint64_t lines_left_out() const { return left_out_; }

 private:
  friend class RedactedBytes;
  [[nodiscard]] std::shared_ptr<const LogSource> file_with(std::shared_ptr<const LogSource> file, std::uint64_t end,
                                                           TellCwd cwd) const;
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;  // device, inode, end
  const redact::Redactor redactor_;
  mutable std::atomic<std::uint64_t> left_out_{0};
  mutable std::mutex mutex_;
  mutable std::map<Key, std::weak_ptr<RedactedBytes>> made_;  // guarded by mutex_
};

}  // namespace arborfs
