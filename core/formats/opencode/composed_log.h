// The bytes of one session of OpenCode: the texts of its messages, one after another, composed when they are read. Only
// their places are in memory. Reading a message that has changed since the session was opened fails with `stale`.
// Thread-safe.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "core/formats/opencode/session_archive.h"
#include "core/log/log_source.h"

namespace arborfs::opencode {

/// The texts that were read last, of all sessions of a store. Thread-safe.
class TextCache {
 public:
  /// Texts of neighbouring messages.
  struct Chunk {
    std::uint64_t log = 0;    // the number of the ComposedLog
    std::uint64_t start = 0;  // the offset of the first byte
    std::string text;
  };
  using ChunkPtr = std::shared_ptr<const Chunk>;
  /// The chunk that holds the byte at `offset`; null if there is none.
  [[nodiscard]] ChunkPtr find(std::uint64_t log, std::uint64_t offset);
  void put(ChunkPtr chunk);
  /// Drops a chunk that is too large to be kept when it is not needed.
  void drop_if_large(const ChunkPtr& chunk);

 private:
  static constexpr std::size_t kMost = std::size_t{4} << 20U;
  std::mutex mutex_;
  std::list<ChunkPtr> chunks_;  // the last one used is the first
  std::size_t bytes_ = 0;
};

class ComposedLog final : public LogSource {
 public:
  using Look = std::function<Result<FileStat>()>;
  /// `archive` and `cache` outlive this. `look` returns the session's current stat.
  ComposedLog(const SessionArchive& archive, TextCache& cache, SessionName session, WholeSession whole,
              const FileStat& opened, Look look);

  [[nodiscard]] Result<std::uint64_t> size() const override { return end_; }
  [[nodiscard]] Result<FileStat> stat() const override { return look_(); }
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override;
  /// The session's id.
  [[nodiscard]] std::string_view place() const override { return session_.id; }
  [[nodiscard]] std::optional<std::string_view> metadata() const override { return whole_.metadata; }

 private:
  [[nodiscard]] Result<TextCache::ChunkPtr> chunk_at(std::uint64_t offset) const;
  const SessionArchive& archive_;
  TextCache& cache_;
  const SessionName session_;
  WholeSession whole_;  // without `start`, which goes into the cache
  const std::uint64_t end_;
  const std::uint64_t number_;
  const Look look_;
};

}  // namespace arborfs::opencode
