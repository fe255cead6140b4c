#include "core/formats/opencode/store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/formats/opencode/reader.h"

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

/// The bytes of one session of OpenCode: the texts of its messages, one after another, composed when they are read.
/// Only their places are in memory. Reading a message that has changed since the session was opened fails with `stale`.
/// Thread-safe.
class ComposedLog final : public LogSource {
 public:
  using Look = std::function<Result<FileStat>()>;
  /// `archive` and `cache` outlive this. `look` returns the session's current stat.
  ComposedLog(const SessionArchive& archive, TextCache& cache, SessionName session, WholeSession whole,
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

  [[nodiscard]] Result<std::uint64_t> size() const override { return end_; }
  [[nodiscard]] Result<FileStat> stat() const override { return look_(); }

  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override {
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

  /// The session's id.
  [[nodiscard]] std::string_view place() const override { return session_.id; }
  [[nodiscard]] std::optional<std::string_view> metadata() const override { return whole_.metadata; }

 private:
  [[nodiscard]] Result<TextCache::ChunkPtr> chunk_at(std::uint64_t offset) const {
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

  const SessionArchive& archive_;
  TextCache& cache_;
  const SessionName session_;
  WholeSession whole_;  // without `start`, which goes into the cache
  const std::uint64_t end_;
  const std::uint64_t number_;
  const Look look_;
};

/// This many of the most recently opened sessions are checked closely when anything changes.
constexpr std::size_t kMostHot = 32;

/// See opencode/FORMAT.md G2. A killed program leaves the same signs, so they count only while a program runs.
class Answers final : public LiveSigns {
 public:
  explicit Answers(const SessionArchive& archive) : archive_(archive) {}

  [[nodiscard]] std::vector<std::string> of(const LogPlace& place) const override {
    return archive_.is_answering(session_at(place)) ? std::vector<std::string>{"opencode is answering in it"}
                                                    : std::vector<std::string>();
  }

 private:
  const SessionArchive& archive_;
};

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

Store::Store(const Format& format, StorePaths paths, std::unique_ptr<SessionArchive> archive, Disk& disk)
    : arborfs::Store(format, std::move(paths), disk), archive_(std::move(archive)) {}

FileStat Store::stat_of(const SessionName& session, const Known& known) const {
  const Stamp& stamp = known.was_opened ? known.stamps.whole : known.stamps.head;
  FileStat st;
  st.dev = xxh64(paths().sessions);
  st.ino = xxh64(session.folder + "/" + session.id, stamp.version + known.size * 31);
  st.size = known.size;
  st.mtime_ns = stamp.time_ns;
  st.mode = S_IFREG | S_IRUSR;
  st.uid = ::geteuid();
  return st;
}

/// Applies the results of a listing. Returns the sessions whose messages must be checked too: those of which more than
/// the head was read, if the head changed or they were opened recently.
std::vector<std::string> Store::note_heads(const std::string& folder, const std::vector<SessionHead>& heads,
                                           std::uint64_t changes) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> changed;
  for (const SessionHead& head : heads) {
    if (!head.left_out.empty()) {
      continue;
    }
    const SessionName session{folder, head.id};
    Known& known = known_[session];
    if (!known.was_opened) {
      known.changes = changes;
      known.stamps.head = head.stamp;
      continue;
    }
    const bool is_hot = std::find(hot_.begin(), hot_.end(), session) != hot_.end();
    if (known.changes != changes && (is_hot || !(known.stamps.head == head.stamp))) {
      changed.push_back(head.id);
    }
  }
  return changed;
}

/// `covers` says which of the stamps are valid. The stat is that of the session now.
FileStat Store::note(const SessionName& session, const Stamps& stamps, Covers covers, std::uint64_t changes) const {
  const std::lock_guard lock(mutex_);
  Known& known = known_[session];
  if (covers == Covers::whole || !known.was_opened) {
    known.size = known.stamps.whole == stamps.whole ? known.size : 0;
    known.stamps = stamps;
    known.changes = changes;
  }
  return stat_of(session, known);
}

Result<FileStat> Store::look(const SessionName& session) const {
  ASSIGN_OR_RETURN(const auto changes, archive_->changes());
  bool was_opened = false;
  {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(session);
    if (known != known_.end() && known->second.changes == changes) {
      return stat_of(session, known->second);
    }
    was_opened = known != known_.end() && known->second.was_opened;
  }
  const Covers covers = was_opened ? Covers::whole : Covers::head;
  ASSIGN_OR_RETURN(const auto stamps, archive_->stamps(session, covers));
  return note(session, stamps, covers, changes);
}

Result<FileStat> Store::stat(const LogPlace& place, const Dir* /*in*/) const {
  return look(session_at(place));
}

Result<std::vector<FoundLog>> Store::logs(const std::string& folder, const HeadWanted& wants_head) const {
  ASSIGN_OR_RETURN(const auto changes, archive_->changes());
  const auto place_of = [&](std::string_view id) {
    return LogPlace{folder, std::string(id) + std::string(kPlaceSuffix)};
  };
  const std::int64_t started = now_ns();
  ASSIGN_OR_RETURN(
      auto heads, archive_->heads(folder, [&](std::string_view id) { return wants_head && wants_head(place_of(id)); }));
  ASSIGN_OR_RETURN(const auto stamps, archive_->whole_stamps(folder, note_heads(folder, heads, changes)));
  for (const auto& [id, now] : stamps) {
    note({folder, id}, now, Covers::whole, changes);
  }
  std::vector<FoundLog> found;
  found.reserve(heads.size());
  for (SessionHead& head : heads) {
    FoundLog log{place_of(head.id), {}, {}, head.is_linked, std::move(head.left_out)};
    if (log.left_out.empty()) {
      const std::lock_guard lock(mutex_);
      const SessionName session{folder, head.id};
      log.stat = stat_of(session, known_[session]);
    }
    if (!head.metadata.empty()) {
      log.head = FoundHead{header_of(head.metadata, head.id), started};
    }
    found.push_back(std::move(log));
  }
  return found;
}

FileStat Store::note_opened(const SessionName& session, const WholeSession& whole, std::uint64_t changes) const {
  const std::lock_guard lock(mutex_);
  const auto before = std::find(hot_.begin(), hot_.end(), session);
  if (before == hot_.end()) {
    hot_.push_front(session);
    hot_.resize(std::min(hot_.size(), kMostHot));
  } else {
    hot_.splice(hot_.begin(), hot_, before);
  }
  Known& known = known_[session];
  known = {changes, whole.stamps, whole.pieces.empty() ? 0 : whole.pieces.back().end, true};
  return stat_of(session, known);
}

Result<Header> Store::header(const LogPlace& place) const {
  ASSIGN_OR_RETURN(const auto head, archive_->head(session_at(place)));
  return header_of(head.metadata, head.id);
}

Result<std::shared_ptr<const LogSource>> Store::open(const LogPlace& place) const {
  const SessionName session = session_at(place);
  ASSIGN_OR_RETURN(const auto changes, archive_->changes());
  ASSIGN_OR_RETURN(auto whole, archive_->whole(session));
  const FileStat opened = note_opened(session, whole, changes);
  return std::shared_ptr<const LogSource>(std::make_shared<ComposedLog>(
      *archive_, cache_, session, std::move(whole), opened, [this, session] { return look(session); }));
}

Result<ShownFilesPtr> Store::native_files(const LogPlace& place) const {
  return archive_->files(session_at(place));
}

std::string Store::path_of(const LogPlace& place) const {
  return archive_->path_of(session_at(place));
}

std::unique_ptr<const LiveSigns> Store::live_signs(bool is_running) const {
  return is_running ? std::make_unique<const Answers>(*archive_) : nullptr;
}

std::vector<Finding> Store::faults_of(const LogPlace& place) const {
  return archive_->faults_of(session_at(place));
}

std::vector<WatchedDir> Store::watched() const {
  std::vector<SessionName> hot;
  {
    const std::lock_guard lock(mutex_);
    hot.assign(hot_.begin(), hot_.end());
  }
  return archive_->watched(hot);
}

}  // namespace arborfs::opencode
