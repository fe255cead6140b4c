// How the log of one agent becomes an index.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/log/log_index.h"
#include "core/log/log_source.h"

namespace arborfs {

/// One constant object per format. Thread-safe.
class LogReader {
 public:
  virtual ~LogReader() = default;
  /// Reads only the data that a listing of sessions needs, at most a few MiB. Errors: io.
  [[nodiscard]] virtual Result<Header> read_header(const LogSource& log) const = 0;
  /// Reads the log from its first byte to its current end. Errors: io, too_large, interrupted once a stop is requested.
  [[nodiscard]] virtual Result<std::unique_ptr<LogIndex>> index(const LogSource& log,
                                                                const std::stop_token& stop) const = 0;
  /// True if logs of this format only grow, so that entries keep their places. Others may be rewritten whole.
  [[nodiscard]] virtual bool only_grow() const { return false; }
  /// A log of at most so many bytes that was indexed just after a write, when a later one may leave its times
  /// unchanged, is not indexed again if none of its bytes has changed. Comparing costs time with each index.
  [[nodiscard]] virtual std::uint64_t most_compared() const { return std::uint64_t{8} << 10U; }
  /// Copies facts that an earlier index found, and that the head does not show, into the head of a log that has grown.
  virtual void keep_findings(const Header& /*before*/, Header& /*header*/) const {}
  /// The word of the vocabulary of all agents (CONTRACT.md 2.2) for an entry with this word of the agent's: user,
  /// assistant, tool, summary, system; else the word itself.
  [[nodiscard]] virtual std::string_view role_of(std::string_view word) const { return word; }
  /// The rules of a LogIndex::dialect(), as status.json names them; "" if there is only one set of them.
  [[nodiscard]] virtual std::string_view dialect_name(DialectNumber /*dialect*/) const { return ""; }
  /// Whether a turn is in progress by the log's last record about that; nothing for an agent that writes no such
  /// records. Errors: io, stale.
  [[nodiscard]] virtual Result<std::optional<bool>> turn_is_open(const LogSource& /*log*/) const {
    return std::optional<bool>();
  }
  /// A model that a record which is not an entry names: that of the entries after `offset` that name none.
  struct ModelChange {
    std::uint64_t offset = 0;
    std::string model;
  };
  /// In the order of the log. Errors: io, stale, interrupted once a stop is requested.
  [[nodiscard]] virtual Result<std::vector<ModelChange>> model_changes(const LogSource& /*log*/,
                                                                       const std::stop_token& /*stop*/) const {
    return std::vector<ModelChange>();
  }
};

// How long ago a log must have been written for facts about it to be reliable.

inline constexpr std::int64_t kNanosPerMilli = 1'000'000;
/// Coarser than the clock tick of any file system in use: a log read this soon after its mtime may change unnoticed.
inline constexpr std::int64_t kRacyNanos = 50 * kNanosPerMilli;
/// An unterminated end that is older than this is damage, not a write in progress.
inline constexpr std::int64_t kTailAgeNanos = 2000 * kNanosPerMilli;

/// True if less than `age` has passed since `mtime_ns`. A time in the future gives no age: a clock was wrong, or a
/// program set it. Exception: a time less than kTailAgeNanos ahead, because another machine's clock may be ahead by
/// that much.
constexpr bool is_younger(std::int64_t mtime_ns, std::int64_t now_ns, std::int64_t age) {
  return mtime_ns > now_ns - age && mtime_ns < now_ns + kTailAgeNanos;
}

}  // namespace arborfs
