#include "core/session/session.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/clock.h"
#include "core/log/log_age.h"
#include "core/log/log_reader.h"
#include "core/session/loaded_indexes.h"

namespace arborfs {

Error session_changed() {
  return {Errc::stale, "the session changed during the read; try again"};
}

Session::Session(std::uint32_t number, FoundLog found, Shared& shared)
    : number_(number),
      store_number_(found.place.store),
      shared_(shared),
      format_(shared.store->format_of(found.place)),
      place_(std::move(found.place)) {
  head_.stat = found.stat;
  if (found.head) {
    head_.header = std::move(found.head->header);
    head_loaded_ = true;
    racy_ = is_younger(found.stat.mtime_ns, found.head->read_ns, kRacyNanos);
    ++epoch_;
  }
}

bool Session::has_head() const {
  const std::shared_lock lock(mutex_);
  return head_loaded_;
}

LogPlace Session::place() const {
  const std::shared_lock lock(mutex_);
  return place_;
}

std::string Session::stem() const {
  const std::shared_lock lock(mutex_);
  return std::string(place_.stem());
}

Session::Head Session::head() const {
  const std::shared_lock lock(mutex_);
  return head_;
}

std::string Session::title() const {
  const std::shared_lock lock(mutex_);
  return head_.header.title;
}

Session::Standing Session::standing() const {
  const std::shared_lock lock(mutex_);
  return {head_.header.cwd, head_.header.id, agent_locked(), head_.header.started_by};
}

Session::Outline Session::outline() const {
  const std::shared_lock lock(mutex_);
  return {head_.header.title, agent_locked(), head_.stat.mtime_ns};
}

std::int64_t Session::mtime_ns() const {
  const std::shared_lock lock(mutex_);
  return head_.stat.mtime_ns;
}

FileStat Session::stat() const {
  const std::shared_lock lock(mutex_);
  return head_.stat;
}

bool Session::is_known_since(Clock::time_point when, Depth depth) const {
  if (looked_.load() < when) {
    return false;
  }
  const std::shared_lock lock(mutex_);
  return head_loaded_ && has_locked(depth);
}

bool Session::looks_changed(const FileStat& st) const {
  const std::shared_lock lock(mutex_);
  const bool ageing = index_ && !tail_aged_ && !is_younger(st.mtime_ns, now_ns(), kTailAgeNanos);
  return !head_loaded_ || racy_.load(std::memory_order_relaxed) || ageing || !(st == head_.stat) ||
         is_misplaced_locked();
}

bool Session::is_misplaced() const {
  const std::shared_lock lock(mutex_);
  return is_misplaced_locked();
}

bool Session::is_misplaced_locked() const {
  return is_renamed_locked() || agent_locked() != shown_by_.agent || head_.header.started_by != shown_by_.started_by;
}

bool Session::is_renamed() const {
  const std::shared_lock lock(mutex_);
  return is_renamed_locked();
}

bool Session::is_renamed_locked() const {
  return head_.header.cwd != shown_by_.cwd || head_.header.id != shown_by_.id;
}

std::string_view Session::agent() const {
  const std::shared_lock lock(mutex_);
  return agent_locked();
}

std::string_view Session::format_name() const {
  const std::shared_lock lock(mutex_);
  return format_locked().name;
}

std::string_view Session::agent_locked() const {
  return format_locked().agent;
}

const Format& Session::format_locked() const {
  const Format* const owner = shared_.store->owner_of(head_.header);
  return owner == nullptr ? format() : *owner;
}

std::optional<Session::Guard> Session::read() const {
  std::shared_lock lock(mutex_);
  if (!index_) {
    return std::nullopt;
  }
  return Guard(*this, std::move(lock));
}

std::uint32_t Session::Guard::generation_of(Ordinal entry) const {
  const auto& revisions = session_->revisions_;
  const auto after = std::upper_bound(revisions.begin(), revisions.end(), entry,
                                      [](Ordinal wanted, const Revision& revision) { return wanted < revision.first; });
  return after == revisions.begin() ? session_->generation_ : std::prev(after)->generation;
}

Result<Session::Guard> Session::read_index() const {
  auto guard = read();
  if (!guard) {
    return session_changed();
  }
  return *std::move(guard);
}

std::optional<Session::Raw> Session::raw() const {
  const std::shared_lock lock(mutex_);
  if (!log_) {
    return std::nullopt;
  }
  const std::uint32_t entries = format().reader->only_grow() ? generation_ : 0;
  return Raw{log_, head_.stat, slot_bytes_, raw_generation_, epoch_, bytes_generation_, entries};
}

Session::Generations Session::generations() const {
  const std::shared_lock lock(mutex_);
  return {generation_, raw_generation_};
}

bool Session::has(Depth depth) const {
  const std::shared_lock lock(mutex_);
  return has_locked(depth);
}

/// The caller holds mutex_ or refresh_mutex_.
bool Session::has_locked(Depth depth) const {
  switch (depth) {
    case Depth::head:
      return head_loaded_;
    case Depth::raw:
      return log_ != nullptr;
    case Depth::index:
      return index_ != nullptr;
    case Depth::details:
      break;
  }
  return details_ != nullptr;
}

bool Session::is_gone() const {
  const std::shared_lock lock(mutex_);
  return gone_;
}

std::size_t Session::memory_bytes() const {
  const std::shared_lock lock(mutex_);
  return (index_ ? index_->memory_bytes() : 0) + (details_ ? details_->size() * sizeof(std::uint32_t) : 0);
}

void Session::set_shown_path(std::string path, const Standing& by) {
  const std::unique_lock lock(mutex_);
  shown_path_ = std::move(path);
  shown_by_ = by;
}

std::string Session::shown_path() const {
  const std::shared_lock lock(mutex_);
  return shown_path_;
}

/// Copied into place under mutex_, so that unchanged parts stay where they are in memory: otherwise each reload of
/// indexes would leave holes in the heap where the old heads were.
void Session::keep_head(const FileStat& st, const Header& header) {
  head_.stat = st;
  head_.header = header;
  head_.problem.clear();
  head_loaded_ = true;
}

/// The head of a grown log shows less than was read before.
void Session::keep_findings(const FileStat& st, Header& header) const {
  const bool has_grown =
      head_loaded_ && head_.stat.same_file(st) && st.size >= head_.stat.size && head_.header.id == header.id;
  if (has_grown) {
    format().reader->keep_findings(head_.header, header);
  }
}

void Session::moved_to(const LogPlace& place) {
  const std::unique_lock lock(mutex_);
  place_ = place;
  gone_ = false;
}

void Session::mark_gone() {
  const std::lock_guard refreshing(refresh_mutex_);
  std::uint32_t last_generation = 0;
  {
    const std::unique_lock lock(mutex_);
    gone_ = true;
    head_.problem = "the log is gone";
    log_.reset();
    index_.reset();
    details_.reset();
    whole_mark_.reset();
    log_mark_.reset();
    let_go_.reset();
    last_generation = generation_;
  }
  has_loaded_ = true;
  forget_documents(last_generation);
  note_loaded();
}

void Session::begin_anew() {
  const std::lock_guard refreshing(refresh_mutex_);
  std::uint32_t last_generation = 0;
  Ordinal entries = kNoEntry;
  {
    const std::unique_lock lock(mutex_);
    last_generation = generation_;
    if (last_generation == 0) {
      return;
    }
    generation_ = index_ ? ++shared_.generations : 0;
    revisions_.clear();
    entries = index_ ? index_->size() : kNoEntry;
    let_go_.reset();
    ++epoch_;
  }
  forget_documents(last_generation);
  publish(Change::Kind::session_rewritten, last_generation, entries == kNoEntry ? kNoEntry : 1, entries);
}

/// Call it under mutex_, after any change to its inputs.
void Session::settle_leaf() {
  moved_leaf_ = kept_leaf_ && index_ ? kept_leaf_->in(*index_) : std::nullopt;
}

void Session::reload_leaf() {
  const std::lock_guard refreshing(refresh_mutex_);
  if (!index_ && !let_go_) {
    return;  // the next load of the index reads the leaf
  }
  auto kept = shared_.leaves == nullptr ? std::nullopt : shared_.leaves->load(place().file);
  {
    const std::unique_lock lock(mutex_);
    const auto before = moved_leaf_;
    const bool is_other = kept_leaf_ != kept;
    kept_leaf_ = std::move(kept);
    settle_leaf();
    if (let_go_ ? !is_other : moved_leaf_ == before) {
      return;
    }
    ++epoch_;
  }
  publish(Change::Kind::session_touched, 0, kNoEntry, kNoEntry);
}

void Session::set_write_error(std::string text) {
  const std::unique_lock lock(mutex_);
  write_error_ = std::move(text);
}

std::string Session::write_error() const {
  const std::shared_lock lock(mutex_);
  return write_error_;
}

void Session::forget_documents(std::uint32_t generation) {
  if (shared_.documents != nullptr) {
    shared_.documents->forget(generation);
  }
}

void Session::publish(Change::Kind kind, std::uint32_t old_generation, Ordinal first, Ordinal last) {
  Change change;
  change.kind = kind;
  change.old_generation = old_generation;
  change.first = first;
  change.last = last;
  publish(std::move(change));
}

void Session::publish(Change change) {
  if (shared_.feed == nullptr) {
    return;
  }
  change.session = number_;
  {
    const std::shared_lock lock(mutex_);
    change.session_id = head_.header.id;
    change.path = shown_path_;
  }
  shared_.feed->publish(std::move(change));
}

void Session::note_loaded() {
  if (shared_.loaded != nullptr && has_loaded_.exchange(false)) {
    shared_.loaded->note(shared_from_this());
  }
}

}  // namespace arborfs
