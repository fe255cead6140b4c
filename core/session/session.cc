#include "core/session/session.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/entry/names.h"
#include "core/log/log_reader.h"
#include "core/log/redacted_log.h"
#include "core/session/loaded_indexes.h"
#include "core/session/session_name.h"

namespace arborfs {

namespace {

constexpr std::size_t kNameColumns = 80;  // of the opening words; a slug has fewer
constexpr std::uint64_t kLongLog = 4 << 20;

/// While it lives for long work, is_quick() is false.
class LongWork {
 public:
  LongWork(std::atomic<bool>& flag, std::uint64_t bytes) : flag_(flag) { flag_ = bytes > Session::kQuickBytes; }
  ~LongWork() { flag_ = false; }
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

Error session_changed() {
  return {Errc::stale, "the session changed during the read; try again"};
}

Session::Session(std::uint32_t number, FoundLog found, Shared& shared)
    : number_(number),
      shared_(shared),
      place_(found.place),
      shown_stem_(redacted_stem(place_)),
      state_(*shared.store, found) {}

std::optional<std::string> Session::redacted_stem(const LogPlace& place) const {
  const LogRedaction* const redaction = store().redaction();
  return redaction == nullptr ? std::nullopt : std::optional(redaction->text(place.stem()));
}

bool Session::looks_changed(const FileStat& st) const {
  const std::shared_lock lock(mutex_);
  return !state_.is_current(st, Depth::head) || state_.has_ageing_tail(st) || is_wrongly_shown() ||
         (shown_.by.naming && lacks_words());
}

bool Session::Shown::is_under_other_names(const Header& header) const {
  return header.cwd != by.cwd || header.id != by.id;
}

bool Session::Shown::is_wrong_for(const LogState& state) const {
  const Header& header = state.head.header;
  return is_under_other_names(header) || state.owner().agent != by.agent || header.started_by != by.started_by;
}

std::optional<std::uint64_t> Session::naming() const {
  const Header& header = state_.head.header;
  if (header.title.empty() && !shown_.words) {
    return std::nullopt;
  }
  return xxh64(header.timestamp, xxh64(header.title.empty() ? shown_.words->slug : header.title));
}

std::optional<Session::NameParts> Session::name_parts() const {
  const std::shared_lock lock(mutex_);
  const Header& header = state_.head.header;
  if (header.title.empty() && !shown_.words) {
    return std::nullopt;
  }
  return NameParts{header.timestamp, header.title.empty() ? shown_.words->slug : header.title};
}

/// What a person typed stays while the log only grows. A long log in which nobody spoke is looked at again when it has
/// doubled, so that its writer does not make its start be read all the time.
bool Session::lacks_words() const {
  const auto& head = state_.head;
  if (!head.header.title.empty() || !head.problem.empty() || (shown_.words && shown_.words->stat == head.stat)) {
    return false;
  }
  const bool has_only_grown =
      shown_.words && shown_.words->stat.same_file(head.stat) && shown_.words->stat.size <= head.stat.size;
  const bool is_long =
      shown_.words && shown_.words->stat.size > kLongLog && head.stat.size / 2 < shown_.words->stat.size;
  return !has_only_grown || (!shown_.words->is_final && !is_long);
}

Result<void> Session::read_words() {
  const FileStat before = stat();
  const OpeningWords opening = opening_words(*this, kNameColumns);
  if (Cancellation::is_requested()) {
    return {Errc::interrupted, "the reader is gone"};  // part of the log may not have been read
  }
  Words words{before, names::slug(opening.text.empty() ? kNoConversation : std::string_view(opening.text)),
              opening.is_final};
  const std::unique_lock lock(mutex_);
  if (state_.head.stat == before) {  // else whoever saw the change reads them
    shown_.words = std::move(words);
  }
  return {};
}

std::optional<Session::Guard> Session::read() const {
  std::shared_lock lock(mutex_);
  if (!state_.index) {
    return std::nullopt;
  }
  return Guard(state_, std::move(lock));
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
  if (!state_.log) {
    return std::nullopt;
  }
  const Versions& versions = state_.versions;
  const std::uint32_t entries = format().reader->only_grow() ? versions.entries : 0;
  return Raw{state_.log, state_.head.stat, state_.slot, versions.raw, versions.epoch, versions.bytes, entries};
}

void Session::set_shown_path(std::string path, const Identity& by) {
  const std::unique_lock lock(mutex_);
  shown_.path = std::move(path);
  shown_.by = by;
}

void Session::set_write_error(std::string text) {
  const std::unique_lock lock(mutex_);
  write_error_ = std::move(text);
}

bool Session::is_known_since(Clock::time_point when, Depth depth) const {
  if (times_.looked.load() < when) {
    return false;
  }
  const std::shared_lock lock(mutex_);
  return state_.has_head && state_.has(depth);
}

bool Session::is_quick(Depth depth) const {
  if (works_long_) {
    return false;
  }
  if (depth == Depth::head || (depth == Depth::raw && !has(Depth::index) && store().redaction() == nullptr)) {
    return true;
  }
  const auto st = store().stat(place());
  return !st || is_quick(depth, *st);
}

bool Session::is_quick(Depth depth, const FileStat& now) const {
  const std::shared_lock lock(mutex_);
  return !works_long_ && state_.bytes_to_read(now, depth) <= kQuickBytes;
}

Result<void> Session::follow() {
  std::optional<FileStat> before;
  {
    const std::shared_lock lock(mutex_);
    before = state_.evicted ? std::optional(state_.evicted->stat) : std::nullopt;
  }
  const auto now = before ? store().stat(place()) : Result<FileStat>(Errc::not_found, "");
  return refresh(now && !(*now == *before) ? Depth::index : Depth::head);
}

Result<void> Session::refresh(Depth depth, const Look& stat) {
  note_used();
  bool has_loaded = false;
  auto done = [&] {
    const std::lock_guard refreshing(refresh_mutex_);
    const auto start = Clock::now();
    const auto now = stat();
    auto outcome = now ? refresh_locked(depth, *now, has_loaded) : Result<void>(fail(now.error()));
    times_.looked = outcome ? start : kNever;
    return outcome;
  }();
  note_used();  // again: the refresh may have taken longer than kJustUsed
  if (has_loaded) {
    note_loaded();
  }
  return done;
}

Result<void> Session::refresh_locked(Depth depth, const FileStat& now, bool& has_loaded) {
  {
    const std::shared_lock lock(mutex_);
    if (state_.is_gone) {
      return Error{Errc::not_found, "the log is gone"};
    }
    depth = std::max(depth, state_.depth());
  }
  if (!state_.is_current(now, depth)) {
    const std::int64_t started = now_ns();
    if (!state_.is_same_after_all(place(), now, depth)) {
      has_loaded = true;
      if (auto done = take_in(now, depth); !done) {
        return done.error().code == Errc::interrupted ? done.error() : fail(done.error());
      }
    }
    const std::unique_lock lock(mutex_);
    state_.is_racy = is_younger(state_.head.stat.mtime_ns, started, kRacyNanos);  // this stat may be newer than `now`
  }
  if (state_.has_ageing_tail(now)) {
    change([](LogState& state) { return state.age_tail(); });
  }
  return {};
}

/// Reads what the state lacks of this depth.
Result<void> Session::take_in(const FileStat& st, Depth depth) {
  const bool lacks_only_details = depth == Depth::details && (state_.is_current(st, Depth::index) ||
                                                              state_.is_same_after_all(place(), st, Depth::index));
  if (!lacks_only_details) {
    ASSIGN_OR_RETURN(auto read, read_log(st, depth));
    apply(std::move(read));
  }
  if (depth == Depth::details && !state_.details) {
    const LongWork working(works_long_, state_.head.stat.size);
    ASSIGN_OR_RETURN(auto details, state_.read_details(*state_.log, *state_.index, Cancellation::token()));
    const std::unique_lock lock(mutex_);
    state_.details = std::move(details);
  }
  return {};
}

Result<LogReading> Session::read_log(const FileStat& st, Depth depth) {
  if (depth <= Depth::raw) {
    return depth == Depth::head ? state_.read_head(place(), st) : state_.read_raw(place(), st);
  }
  auto grown = state_.read_growth(place(), st);
  if (!grown && grown.error().code != Errc::stale) {
    return grown.error();
  }
  if (grown && *grown) {
    return std::move(**grown);
  }
  const LongWork working(works_long_, st.size);
  return state_.read_index(place(), st, depth, Cancellation::token());
}

void Session::apply(LogReading read) {
  const bool is_whole = read.index != nullptr;
  const bool has_grown = read.growth != nullptr;
  if (is_whole) {
    read.leaf = kept_leaf();
  }
  std::optional<Change> change;
  {
    const std::unique_lock lock(mutex_);
    change = state_.apply(std::move(read), shared_.generations);
  }
  if (change) {
    publish(*std::move(change));
  }
  if (is_whole || (has_grown && acknowledged_.may_lack_some)) {
    try {
      compare_acknowledged();
    } catch (const std::bad_alloc&) {
      acknowledged_.may_lack_some = true;  // compared again when the log has grown
    }
  }
}

void Session::expect_own_log(const FileStat& stat) {
  const std::lock_guard refreshing(refresh_mutex_);
  acknowledged_.in_own_log = stat;
}

void Session::compare_acknowledged() {
  const LogSource& log = *state_.log;
  if (shared_.state == nullptr || log.is_decoded() || log.opened() == acknowledged_.in_own_log) {
    acknowledged_.may_lack_some = false;
    return;
  }
  const auto is_current = [&] {
    const auto now = store().stat(place());
    return now && now->same_file(log.opened()) && now->size == state_.index->scanned_size();
  };
  acknowledged_.may_lack_some = !shared_.state->erased.compare(place().file, *state_.index, is_current);
}

bool Session::evict() {
  const std::unique_lock refreshing(refresh_mutex_, std::try_to_lock);
  if (!refreshing || !state_.index || is_in_use() || !state_.is_at_rest()) {
    return false;
  }
  const auto ends =
      ContentFingerprint::make(*state_.log, state_.slot.size(), state_.head.stat.size, ContentFingerprint::Of::ends);
  if (!ends || !state_.is_at_rest()) {
    return false;
  }
  const IndexFingerprint mark(*state_.index);
  std::unique_ptr<LogIndex> index;  // freed after the lock is released, as are the details
  std::unique_ptr<TextSizes> details;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || is_in_use()) {
    return false;
  }
  index = std::move(state_.index);
  details = std::move(state_.details);
  state_.evict(mark, *ends);
  return true;
}

void Session::begin_anew() {
  const std::lock_guard refreshing(refresh_mutex_);
  change([this](LogState& state) { return state.begin_anew(shared_.generations); });
}

std::optional<KeptLeaf> Session::kept_leaf() const {
  return shared_.state == nullptr ? std::nullopt : shared_.state->leaves.load(place().file);
}

void Session::reload_leaf() {
  const std::lock_guard refreshing(refresh_mutex_);
  if (!state_.index && !state_.evicted) {
    return;  // the next load of the index reads the leaf
  }
  auto leaf = kept_leaf();
  change([&leaf](LogState& state) { return state.apply(std::move(leaf)); });
}

void Session::reload_notes() {
  const std::lock_guard refreshing(refresh_mutex_);
  auto noted = shared_.notes == nullptr ? Result<NotedPtr>(nothing_noted()) : shared_.notes->of(Notes::key_of(*this));
  if (!noted) {
    return;
  }
  change([&](LogState& state) {
    auto made = state.apply(*std::move(noted));
    return shown_.path.empty() ? std::nullopt : made;  // until the catalog shows it, nobody knows another state
  });
}

void Session::moved_to(const LogPlace& place) {
  auto stem = redacted_stem(place);
  const std::unique_lock lock(mutex_);
  place_ = place;
  shown_stem_ = std::move(stem);
  state_.is_gone = false;
}

void Session::mark_gone() {
  {
    const std::lock_guard refreshing(refresh_mutex_);
    const std::unique_lock lock(mutex_);
    state_.clear();
  }
  forget_documents(versions().entries);
  note_loaded();
}

Error Session::fail(const Error& error) {
  change([&error](LogState& state) { return state.fail(error); });
  return error;
}

/// Publishes the change that `make` returns.
template <class Make>
void Session::change(const Make& make) {
  std::optional<Change> made;
  {
    const std::unique_lock lock(mutex_);
    made = make(state_);
  }
  if (made) {
    publish(*std::move(made));
  }
}

void Session::publish(Change change) {
  if (change.old_generation != 0) {
    forget_documents(change.old_generation);
  }
  if (shared_.feed == nullptr) {
    return;
  }
  change.session = number_;
  {
    const std::shared_lock lock(mutex_);
    change.session_id = state_.head.header.id;
    change.path = shown_.path;
  }
  shared_.feed->publish(std::move(change));
}

void Session::forget_documents(std::uint32_t generation) {
  if (shared_.documents != nullptr) {
    shared_.documents->forget(generation);
  }
}

void Session::note_loaded() {
  if (shared_.loaded != nullptr) {
    shared_.loaded->note(shared_from_this());
  }
}

}  // namespace arborfs
