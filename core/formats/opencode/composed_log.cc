#include "core/formats/opencode/composed_log.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "core/base/hash.h"
#include "core/base/result_macros.h"

namespace arborfs::opencode {
namespace {

/// How much is read at a time, unless one message is longer.
constexpr std::size_t kChunk = std::size_t{256} << 10U;
/// A quarter of the cache's capacity.
constexpr std::size_t kLongestStart = std::size_t{1} << 20U;

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

Error session_has_changed() {
  return {Errc::stale, "the session changed while it was read; try again"};
}

}  // namespace

void add_piece(WholeSession& whole, std::string_view id, std::string_view text) {
  const std::uint64_t begin = whole.pieces.empty() ? 0 : whole.pieces.back().end;
  whole.pieces.push_back({std::string(id), begin + text.size(), xxh64(text)});
  if (whole.start.size() == begin && begin + text.size() <= kLongestStart) {
    whole.start += text;
  }
}

TextCache::ChunkPtr TextCache::find(std::uint64_t log, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(chunks_.begin(), chunks_.end(), [&](const ChunkPtr& chunk) {
    return chunk->log == log && offset >= chunk->start && offset - chunk->start < chunk->text.size();
  });
  if (found == chunks_.end()) {
    return nullptr;
  }
  chunks_.splice(chunks_.begin(), chunks_, found);
  return chunks_.front();
}

void TextCache::put(ChunkPtr chunk) {
  const std::lock_guard lock(mutex_);
  bytes_ += chunk->text.size();
  chunks_.push_front(std::move(chunk));
  while (bytes_ > kMost && chunks_.size() > 1) {
    bytes_ -= chunks_.back()->text.size();
    chunks_.pop_back();
  }
}

void TextCache::drop_if_large(const ChunkPtr& chunk) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(chunks_.begin(), chunks_.end(), chunk);
  if (found != chunks_.end() && chunk->text.size() > kMost) {
    bytes_ -= chunk->text.size();
    chunks_.erase(found);
  }
}

ComposedLog::ComposedLog(const SessionArchive& archive, TextCache& cache, SessionName session, WholeSession whole,
                         const FileStat& opened, Look look)
    : LogSource(opened),
      archive_(archive),
      cache_(cache),
      session_(std::move(session)),
      whole_(std::move(whole)),
      end_(whole_.pieces.empty() ? 0 : whole_.pieces.back().end),
      number_(next_number()),
      look_(std::move(look)) {
  if (!whole_.start.empty()) {
    cache_.put(std::make_shared<TextCache::Chunk>(TextCache::Chunk{number_, 0, std::exchange(whole_.start, {})}));
  }
}

Result<TextCache::ChunkPtr> ComposedLog::chunk_at(std::uint64_t offset) const {
  if (auto known = cache_.find(number_, offset)) {
    return known;
  }
  const auto& pieces = whole_.pieces;
  const auto first = std::upper_bound(pieces.begin(), pieces.end(), offset,
                                      [](std::uint64_t at, const Piece& piece) { return at < piece.end; });
  auto chunk = std::make_shared<TextCache::Chunk>();
  chunk->log = number_;
  chunk->start = first == pieces.begin() ? 0 : std::prev(first)->end;
  auto piece = first;
  const auto take = [&](std::string&& text) {
    if (xxh64(text) != piece->hash) {
      return false;  // a message that has changed ends the chunk
    }
    chunk->text += text;
    ++piece;
    return chunk->text.size() < kChunk;
  };
  const auto done = archive_.read(session_, {first, pieces.end()}, take);
  if (piece == first) {
    return done ? session_has_changed() : done.error();
  }
  cache_.put(chunk);
  return TextCache::ChunkPtr(std::move(chunk));
}

Result<std::size_t> ComposedLog::read_at(std::uint64_t offset, std::span<char> into) const {
  std::size_t done = 0;
  while (done < into.size() && offset + done < end_) {
    const std::uint64_t at = offset + done;
    ASSIGN_OR_RETURN(const auto chunk, chunk_at(at));
    const std::size_t from = at - chunk->start;
    if (from >= chunk->text.size()) {
      return session_has_changed();
    }
    const std::size_t count = std::min(into.size() - done, chunk->text.size() - from);
    std::memcpy(into.data() + done, chunk->text.data() + from, count);
    done += count;
    if (from + count == chunk->text.size()) {
      cache_.drop_if_large(chunk);
    }
  }
  return done;
}

}  // namespace arborfs::opencode
