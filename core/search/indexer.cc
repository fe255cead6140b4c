#include "core/search/indexer.h"

#include <algorithm>
#include <exception>
#include <set>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "core/base/log.h"
#include "core/base/result_macros.h"
#include "core/base/thread_slice.h"

namespace arborfs::search {

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
    const SessionStore& store = *catalog.stores().at(number);
    if (!silent.contains(static_cast<std::uint8_t>(number)) && store.present()) {
      present.insert(key_of(store));
    }
  }
  return present;
}

}  // namespace

Indexer::Indexer(Catalog& catalog, Settings settings)
    : catalog_(catalog), settings_(std::move(settings)), sessions_(stopping_) {}

Indexer::~Indexer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
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
  if (thread_.joinable() || stopping_) {
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
  const auto is_stopping = [this] { return stopping_.load(); };
  woken_.wait_for(lock, settings_.look_again, is_stopping);
  while (!stopping_ && next == Next::done && asked_ == answered_ && sequence_ == catalog_.feed().last_sequence()) {
    if (Clock::now() - last_search_ < kFollowing) {
      woken_.wait_for(lock, settings_.look_again);
    } else {
      woken_.wait(lock);
    }
  }
  return !stopping_;
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
  sequence_ = catalog_.feed().last_sequence();
  const auto is_complete = add_all();
  if (!is_complete) {
    return stopping_ ? Next::end : recover(is_complete.error());
  }
  locked_.reset();
  if (!*is_complete) {
    return Next::look_again;
  }
  const std::lock_guard lock(mutex_);
  answered_ = asked;
  woken_.notify_all();
  return Next::done;
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
  if (stopping_) {
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
