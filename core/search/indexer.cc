#include "core/search/indexer.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <set>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/entry/names.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text.h"
#include "core/json/utf8.h"
#include "core/log/log_reader.h"
#include "core/views/session_work.h"

namespace arborfs::search {

namespace {

/// Entries longer than this are left out: reading one takes several times its length in memory.
constexpr std::uint64_t kLongestEntry = std::uint64_t{2} << 20U;
/// A session with a longer row is always read: the database takes rows of up to sqlite::Connection::kLongestValue.
constexpr std::size_t kLongestRow = std::size_t{60} << 20U;
constexpr std::size_t kMostBytesOfEntry = 48;  // in a row, without its name
/// A log that was written later than this before it is read is read again later. Longer than kTailAgeNanos, after which
/// a log's age alone changes its state no more.
constexpr std::int64_t kYoungNanos = 3 * 1000 * kNanosPerMilli;

/// A longer log is read for the files that its tools touched when they are asked for: it grows, and each time all of it
/// would be read.
constexpr std::uint64_t kLongestForFiles = std::uint64_t{64} << 20U;

constexpr std::size_t kMostFollowed = 8;
constexpr Ordinal kMostFollowedEntries = 32768;
constexpr std::int64_t kFollowedNanos = 3600 * 1000 * kNanosPerMilli;

Error unreadable() {
  return {Errc::not_found, "the session cannot be read"};
}

}  // namespace

/// One state of a session, and what of it is indexed.
struct SessionIndexer::Reading {
  std::shared_ptr<const LogSource> log;
  const Format* format = nullptr;
  FileStat state;
  std::uint32_t generation = 0;
  Ordinal settled = kNoEntry;
  bool is_young = false;
  std::deque<std::string> names;      // of the entries
  std::vector<IndexedEntry> entries;  // the sizes of their texts are known of those in chunks
  std::vector<Chunk> chunks;
  [[nodiscard]] Ordinal indexed() const { return chunks.empty() ? kNoEntry : chunks.back().last; }
  [[nodiscard]] IndexedSession as_indexed() const;
  [[nodiscard]] IndexedSession as_part() const;
};

IndexedSession SessionIndexer::Reading::as_indexed() const {
  const std::vector<IndexedEntry> first(entries.begin(), entries.begin() + indexed());
  IndexedSession session{state, chunks, packed(first)};
  session.state.dev = 0;
  for (const IndexedEntry& entry : first) {
    session.text_bytes += entry.text_size;
  }
  return session;
}

IndexedSession SessionIndexer::Reading::as_part() const {
  IndexedSession part = as_indexed();
  part.state = state_of_part(part.state);
  return part;
}

SessionIndexer::Followed SessionIndexer::take(const Session& session, const std::shared_ptr<Store>& store) {
  const auto is_it = [&](const Followed& followed) {
    return followed.number == session.number() && followed.session->place() == session.place();
  };
  const auto found = std::find_if(followed_.begin(), followed_.end(), is_it);
  if (found != followed_.end()) {
    Followed followed = std::move(*found);
    followed_.erase(found);
    return followed;
  }
  Followed made;
  made.number = session.number();
  made.shared.reset(new Session::Shared{.store = store, .number = session.store_number(), .generations = generations_});
  made.session = std::make_shared<Session>(made.number, FoundLog{session.place(), {}, {}}, *made.shared);
  return made;
}

void SessionIndexer::keep(Followed followed, const Reading& reading) {
  const bool is_long = reading.entries.size() > kMostFollowedEntries;
  if (is_long || !is_younger(reading.state.mtime_ns, now_ns(), kFollowedNanos)) {
    return;
  }
  followed_.push_front(std::move(followed));
  if (followed_.size() > kMostFollowed) {
    followed_.pop_back();
  }
}

Result<SessionIndexer::Reading> SessionIndexer::read(const Followed& followed) {
  const std::int64_t begun = now_ns();
  if (auto done = followed.session->refresh(Depth::index); !done) {
    return done.error().code == Errc::interrupted ? done.error() : unreadable();
  }
  ASSIGN_OR_RETURN(const auto guard, followed.session->read_index());
  const LogIndex& index = guard.index();
  Reading reading;
  reading.log = guard.log();
  reading.format = &guard.format();
  reading.state = guard.stat();
  reading.generation = guard.generation();
  reading.settled = index.settled();
  reading.is_young = is_younger(guard.stat().mtime_ns, begun, kYoungNanos);
  reading.entries.reserve(index.size());
  std::size_t row_bytes = 0;
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    const Entry& entry = index.entry(ordinal);
    std::string& name = reading.names.emplace_back(names::entry_stem(index, ordinal));
    name.erase(0, name.find('-') + 1);
    row_bytes += kMostBytesOfEntry + name.size();
    if (row_bytes > kLongestRow) {
      return unreadable();
    }
    reading.entries.push_back({entry.type, entry.offset, index.length(ordinal), 0, entry.timestamp_ms, name});
  }
  return reading;
}

namespace {

/// What of an indexed session is still so, if its first `entries` are as they were. A last chunk that is not full goes
/// too, so that the chunks of a session that grows entry by entry do not become many.
std::vector<Chunk> chunks_kept(const IndexedSession& indexed, const std::vector<IndexedEntry>& of, Ordinal entries) {
  std::vector<Chunk> kept;
  for (const Chunk& chunk : indexed.chunks) {
    std::uint64_t bytes = 0;
    for (Ordinal ordinal = chunk.first; ordinal <= chunk.last; ++ordinal) {
      bytes += of[ordinal - 1].text_size;
    }
    const bool is_full = bytes >= kChunkBytes / 2 || chunk.id == Chunk::kUnread;
    if (chunk.last > entries || (chunk.last == indexed.count() && !is_full)) {
      break;
    }
    kept.push_back(chunk);
  }
  return kept;
}

}  // namespace

/// Ends a chunk: what follows the last one up to `last`.
Result<void> SessionIndexer::end_chunk(Reading& reading, Ordinal last, IndexWriter& writer) {
  const Ordinal first = reading.indexed() + 1;
  if (first <= last) {
    ASSIGN_OR_RETURN(const auto id, writer.add_chunk(terms_, chunk_bytes_));
    reading.chunks.push_back({id, first, last});
  }
  terms_.clear();
  chunk_bytes_ = 0;
  return {};
}

/// Ends the batch with what is indexed so far, and begins another one. False if another process has indexed the session
/// in between.
Result<bool> SessionIndexer::put_part(const IndexKey& key, const Reading& reading, IndexWriter& writer) {
  const IndexedSession part = reading.as_part();
  RETURN_IF_ERROR(writer.put(key, part));
  RETURN_IF_ERROR(writer.commit());
  RETURN_IF_ERROR(writer.begin());
  const auto now = writer.table().find(key);
  return now != nullptr && now->state == part.state && packed(now->chunks) == packed(part.chunks);
}

/// Adds the entries after the chunks that the reading already has.
Result<SessionIndexer::Outcome> SessionIndexer::add_entries(const IndexKey& key, Reading& reading,
                                                            IndexWriter& writer) {
  terms_.clear();
  chunk_bytes_ = 0;
  const auto count = static_cast<Ordinal>(reading.entries.size());
  for (Ordinal ordinal = reading.indexed() + 1; ordinal <= count; ++ordinal) {
    if (Cancellation::is_requested()) {
      return Error{Errc::interrupted, "indexing was ended"};
    }
    IndexedEntry& entry = reading.entries[ordinal - 1];
    const bool is_too_long = entry.length > kLongestEntry;
    if (is_too_long || chunk_bytes_ >= kChunkBytes || writer.is_batch_full()) {
      RETURN_IF_ERROR(end_chunk(reading, ordinal - 1, writer));
    }
    if (terms_.empty() && reading.indexed() > 0 && writer.is_batch_full()) {
      ASSIGN_OR_RETURN(const bool is_ours, put_part(key, reading, writer));
      if (!is_ours) {
        return Outcome::too_young;
      }
    }
    if (is_too_long) {
      reading.chunks.push_back({Chunk::kUnread, ordinal, ordinal});
      continue;
    }
    const auto text = read_text(*reading.format->renderer, *reading.log, entry.type, entry.offset, entry.length);
    if (!text) {
      return unreadable();
    }
    each_term(folded(*text),
              [&](std::string_view term) { terms_.push_back(term.empty() ? kBreak : writer.id_of(term)); });
    terms_.push_back(kBreak);
    entry.text_size = text->size();
    chunk_bytes_ += text->size();
  }
  RETURN_IF_ERROR(end_chunk(reading, count, writer));
  return Outcome::done;
}

/// The chunks of a session that has only grown since it was indexed, or that was indexed in part, as far as they are
/// still right.
std::vector<Chunk> SessionIndexer::still_right(const Followed& followed, Reading& reading,
                                               const IndexTable::Row& known) {
  const bool is_part = known != nullptr && is_state_of(*known, state_of_part(reading.state));
  const bool has_grown =
      known != nullptr && is_state_of(*known, followed.state) && followed.generation == reading.generation;
  const auto before = is_part || has_grown ? known->entries() : std::nullopt;
  if (!before || before->size() > reading.entries.size()) {
    return {};
  }
  auto kept = is_part ? known->chunks : chunks_kept(*known, *before, followed.settled);
  const std::size_t count = kept.empty() ? 0 : kept.back().last;
  for (std::size_t i = 0; i < count; ++i) {
    reading.entries[i].text_size = (*before)[i].text_size;
  }
  return kept;
}

Result<SessionIndexer::Done> SessionIndexer::add(const Session& session, const std::shared_ptr<Store>& store,
                                                 IndexWriter& writer) {
  const auto seen = store->stat(session.place());
  if (seen && is_younger(seen->mtime_ns, now_ns(), kYoungNanos)) {
    return Done{.outcome = Outcome::too_young};
  }
  RETURN_IF_ERROR(writer.check_free());
  Followed followed = take(session, store);
  auto reading = read(followed);
  if (!reading) {
    return reading.error().code == Errc::interrupted ? Result<Done>(reading.error()) : Done{.is_unreadable = true};
  }
  if (reading->is_young) {
    keep(std::move(followed), *reading);
    return Done{.outcome = Outcome::too_young};
  }
  RETURN_IF_ERROR(writer.is_in_batch() ? Result<void>() : writer.begin());
  const IndexKey key = key_of(session);
  const auto known = writer.table().find(key);
  Done done;
  if (known == nullptr || !is_state_of(*known, reading->state)) {
    reading->chunks = still_right(followed, *reading, known);
    ASSIGN_OR_RETURN(done, add_and_put(*followed.session, key, *reading, writer));
    if (done.is_unreadable || done.outcome != Outcome::done) {
      return done;
    }
    const auto now = store->stat(session.place());
    done.outcome = now && *now == reading->state ? Outcome::done : Outcome::too_young;
  }
  followed.state = reading->state;
  followed.generation = reading->generation;
  followed.settled = reading->settled;
  keep(std::move(followed), *reading);
  return done;
}

/// What was added has a row in any case, so that it can be removed with it.
Result<SessionIndexer::Done> SessionIndexer::add_and_put(const Session& session, const IndexKey& key, Reading& reading,
                                                         IndexWriter& writer) {
  const auto added = add_entries(key, reading, writer);
  const bool is_unreadable = !added && added.error().code == Errc::not_found;
  if (!added && !is_unreadable) {
    return added.error();
  }
  if (added && *added != Outcome::done) {
    return Done{.outcome = *added};
  }
  if (is_unreadable) {
    RETURN_IF_ERROR(writer.put(key, reading.as_part()));
    return Done{.is_unreadable = true};
  }
  IndexedSession indexed = reading.as_indexed();
  std::vector<std::string> files;
  if (reading.state.size <= kLongestForFiles) {
    const auto work = session_work(session);
    RETURN_IF_ERROR(!work && work.error().code == Errc::interrupted ? Result<void>(work.error()) : Result<void>());
    indexed.has_files = work && work->too_long == 0;
    for (const FileWork& file : indexed.has_files ? work->files : std::vector<FileWork>()) {
      files.push_back(file.path);
    }
  }
  RETURN_IF_ERROR(writer.put(key, indexed, files));
  return Done{};
}

namespace {

using Clock = std::chrono::steady_clock;

/// An index that keeps being damaged is not made again for ever.
constexpr unsigned kMostPutAside = 3;

/// All sessions.
std::vector<SessionPtr> newest_first(const Catalog& catalog) {
  std::vector<SessionPtr> sessions;
  const auto view = catalog.view();
  for (const ShownAt* shown : view->shown) {
    sessions.push_back(shown->session());
  }
  std::stable_sort(sessions.begin(), sessions.end(),
                   [](const SessionPtr& a, const SessionPtr& b) { return a->mtime_ns() > b->mtime_ns(); });
  return sessions;
}

/// The keys of the stores that are there.
std::set<std::string> stores_present(const Catalog& catalog, const Hanging& hanging) {
  std::set<std::string> present;
  const auto silent = hanging.stores();
  for (std::size_t number = 0; number < catalog.stores().size(); ++number) {
    const Store& store = *catalog.stores().at(number);
    if (!silent.contains(static_cast<std::uint8_t>(number)) && store.present()) {
      present.insert(key_of(store));
    }
  }
  return present;
}

}  // namespace

Indexer::Indexer(Catalog& catalog, Settings settings) : catalog_(catalog), settings_(std::move(settings)) {}

Indexer::~Indexer() {
  {
    const std::lock_guard lock(mutex_);
    stop_.request_stop();
  }
  woken_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Indexer::note_search() {
  const std::lock_guard lock(mutex_);
  ++asked_;
  last_search_ = Clock::now();
  woken_.notify_all();
  if (thread_.joinable() || stop_.stop_requested()) {
    return;
  }
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {  // the next search tries again
  }
}

void Indexer::note_damage() {
  {
    const std::lock_guard lock(mutex_);
    is_damaged_ = true;
  }
  note_search();
}

bool Indexer::wait_until_done() {
  note_search();
  std::unique_lock lock(mutex_);
  const std::uint64_t asked = asked_;
  woken_.wait(lock, [&] { return has_ended_ || answered_ >= asked; });
  return !has_ended_;
}

void Indexer::run() {
  const Cancellation cancellation(stop_.get_token());
  make_thread_idle();
  try {
    for (Next next = pass(); next != Next::end && wait(next); next = pass()) {
    }
  } catch (const std::exception& thrown) {
    write_log(LogLevel::warning, std::string("the search index is not kept up to date any more: ") + thrown.what());
  }
  writer_.reset();
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  woken_.notify_all();
}

/// Waits until there may be something to do; false once the thread is to end.
bool Indexer::wait(Next next) {
  std::unique_lock lock(mutex_);
  woken_.wait_for(lock, settings_.look_again, Cancellation::is_requested);
  while (!Cancellation::is_requested() && next == Next::done && asked_ == answered_ &&
         sequence_ == catalog_.feed().last_sequence()) {
    if (Clock::now() - last_search_ < kFollowing) {
      woken_.wait_for(lock, settings_.look_again);
    } else {
      woken_.wait(lock);
    }
  }
  return !Cancellation::is_requested();
}

Indexer::Next Indexer::pass() {
  std::uint64_t asked = 0;
  bool is_damaged = false;
  {
    const std::lock_guard lock(mutex_);
    asked = asked_;
    is_damaged = std::exchange(is_damaged_, false);
  }
  if (is_damaged) {
    return recover(index_is_damaged());
  }
  const std::uint64_t sequence = catalog_.feed().last_sequence();
  if (sequence != sequence_ || !is_as_left()) {
    sequence_ = sequence;
    left_.reset();
    const auto is_complete = add_all();
    if (!is_complete) {
      return Cancellation::is_requested() ? Next::end : recover(is_complete.error());
    }
    locked_.reset();
    if (!*is_complete) {
      return Next::look_again;
    }
    left_ = writer_->table().last_change();
  }
  const std::lock_guard lock(mutex_);
  answered_ = asked;
  woken_.notify_all();
  return Next::done;
}

/// True if the index is as the last pass left it, which was complete.
bool Indexer::is_as_left() {
  const bool is_usable = left_ && hanging_.submounts.empty() && writer_ != nullptr && writer_->is_in_place();
  return is_usable && writer_->update() && writer_->table().last_change() == *left_;
}

Result<void> Indexer::open() {
  if (writer_ != nullptr && writer_->is_in_place()) {
    return writer_->update();
  }
  writer_.reset();
  ASSIGN_OR_RETURN(writer_, IndexWriter::open(catalog_.stores().main().disk(), settings_.folder));
  return {};
}

/// False if a session was too young to be indexed.
Result<bool> Indexer::add_all() {
  RETURN_IF_ERROR(open());
  hanging_ = catalog_.hanging();
  const auto present = stores_present(catalog_, hanging_);
  const auto sessions = newest_first(catalog_);
  bool is_complete = true;
  for (const SessionPtr& session : sessions) {
    RETURN_IF_ERROR(add(*session, is_complete));
  }
  RETURN_IF_ERROR(remove_gone(sessions, present));
  RETURN_IF_ERROR(writer_->is_in_batch() ? writer_->commit() : Result<void>());
  writer_->empty_log();
  ASSIGN_OR_RETURN(const bool is_removed, remove_if_mostly_garbage());
  return is_complete && !is_removed;
}

/// Sessions of a submount that hangs are left out.
Result<void> Indexer::add(const Session& session, bool& is_complete) {
  if (Cancellation::is_requested()) {
    return Error{Errc::interrupted, "indexing was ended"};
  }
  const FileStat state = session.stat();
  const auto known = writer_->table().find(key_of(session));
  const auto failed = unreadable_.find(session.number());
  if ((known != nullptr && is_state_of(*known, state)) || (failed != unreadable_.end() && failed->second == state) ||
      catalog_.is_in(session, hanging_)) {
    return {};
  }
  ASSIGN_OR_RETURN(const auto done, sessions_.add(session, catalog_.stores().at(session.store_number()), *writer_));
  if (done.is_unreadable) {
    unreadable_[session.number()] = state;
  }
  is_complete = is_complete && done.outcome == SessionIndexer::Outcome::done;
  return writer_->is_batch_full() ? writer_->commit() : Result<void>();
}

/// Only of stores that are there: those of one that is not mounted now may come back.
Result<void> Indexer::remove_gone(const std::vector<SessionPtr>& sessions, const std::set<std::string>& present) {
  std::unordered_set<IndexKey, IndexKeyHash> shown;
  for (const SessionPtr& session : sessions) {
    shown.insert(key_of(*session));
  }
  std::vector<IndexKey> gone;
  for (const auto& [key, row] : *writer_->table().rows()) {
    if (present.contains(key.store) && !shown.contains(key)) {
      gone.push_back(key);
    }
  }
  for (const IndexKey& key : gone) {
    RETURN_IF_ERROR(writer_->is_in_batch() ? Result<void>() : writer_->begin());
    RETURN_IF_ERROR(writer_->remove(key));
  }
  return {};
}

/// The next pass makes it again.
Result<bool> Indexer::remove_if_mostly_garbage() {
  if (!writer_->is_mostly_garbage()) {
    return false;
  }
  writer_.reset();
  RETURN_IF_ERROR(IndexDatabase::remove(catalog_.stores().main().disk(), settings_.folder));
  return true;
}

/// False once another program has kept the index locked for too long and has changed nothing in it.
bool Indexer::is_lock_tolerable() {
  const bool is_read = writer_ != nullptr && writer_->update();
  const Locked now{Clock::now(), is_read ? writer_->table().last_chunk() : 0,
                   is_read ? writer_->table().last_change() : 0};
  const bool has_progressed =
      locked_ && is_read && (now.last_chunk != locked_->last_chunk || now.last_change != locked_->last_change);
  if (!locked_ || has_progressed) {
    locked_ = now;
  }
  return now.time - locked_->time < settings_.lock_patience;
}

/// What to do after an error of the index.
Indexer::Next Indexer::recover(const Error& error) {
  const bool is_locked = error.code == Errc::busy;
  if (writer_ != nullptr) {
    writer_->roll_back();
  }
  if (is_locked && is_lock_tolerable()) {
    return Next::look_again;
  }
  locked_.reset();
  writer_.reset();
  const bool is_unusable = is_locked || error.code == Errc::corrupt || error.code == Errc::unsupported ||
                           error.code == Errc::permission || error.code == Errc::too_large;
  if (is_unusable && ++put_aside_ <= kMostPutAside) {
    write_log(LogLevel::warning, "the search index is put aside and made again: " + error.message);
    const auto done = IndexDatabase::put_aside(catalog_.stores().main().disk(), settings_.folder);
    if (done) {
      return Next::look_again;
    }
  }
  write_log(LogLevel::warning, "searches go on without an index: " + error.message);
  return Next::end;
}

}  // namespace arborfs::search
