// How a session follows its log: what is read when, what of it is new, and what is let go again.
#include <algorithm>
#include <utility>

#include "core/base/clock.h"
#include "core/session/log_age.h"
#include "core/session/session.h"

namespace arborfs {

namespace {

constexpr std::size_t kMaxSlot = 4096;

/// The first line, newline included; "" when it is longer than any slot.
Result<std::string> first_line(const LogFile& log) {
  std::string bytes(kMaxSlot, '\0');
  auto got = log.read_raw_at(0, bytes);
  if (!got) {
    return got.error();
  }
  bytes.resize(*got);
  const std::size_t end = bytes.find('\n');
  return end == std::string::npos ? std::string() : bytes.substr(0, end + 1);
}

/// The bytes of a title slot, "" without one.
Result<std::string> slot_of(const LogFile& log, const Header& header) {
  return header.has_slot ? first_line(log) : Result<std::string>(std::string());
}

/// While it lives, callers that must not wait are told so.
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

bool Session::is_quick(Depth depth) const {
  if (works_long_) {
    return false;
  }
  if (depth == Depth::head || (depth == Depth::raw && !has(Depth::index))) {
    return true;
  }
  const auto st = shared_.store->stat(place());
  return !st || is_quick(depth, *st);
}

bool Session::is_quick(Depth depth, const FileStat& now) const {
  if (works_long_) {
    return false;
  }
  const std::shared_lock lock(mutex_);
  if (depth == Depth::head || (depth == Depth::raw && !index_)) {
    return true;
  }
  const bool same_file = log_ && log_->opened().same_file(now);
  const std::uint64_t indexed = index_ && same_file ? std::min(index_->scanned_size(), now.size) : 0;
  const std::uint64_t to_detail = depth == Depth::details && !details_ ? now.size : 0;
  return now.size - indexed + to_detail <= kQuickBytes;
}

Result<void> Session::refresh(Depth depth, const std::atomic<bool>* cancelled) {
  return refresh_as([this] { return shared_.store->stat(place()); }, depth, cancelled);
}

Result<void> Session::refresh(Depth depth, const Look& stat) {
  return refresh_as(stat, depth, nullptr);
}

Result<void> Session::follow() {
  std::optional<FileStat> before;
  {
    const std::shared_lock lock(mutex_);
    before = let_go_ ? std::optional(let_go_->stat) : std::nullopt;
  }
  const auto now = before ? shared_.store->stat(place()) : Result<FileStat>(Errc::not_found, "");
  return refresh(now && !(*now == *before) ? Depth::index : Depth::head);
}

Result<void> Session::refresh_as(const Look& stat, Depth depth, const std::atomic<bool>* cancelled) {
  note_used();
  auto done = [&] {
    const std::lock_guard refreshing(refresh_mutex_);
    const auto start = Clock::now();
    return note_look(start, refresh_locked(depth, stat(), cancelled));
  }();
  note_loaded();
  return done;
}

Result<void> Session::note_look(Clock::time_point start, Result<void> outcome) {
  looked_ = outcome ? start : kNever;
  return outcome;
}

bool Session::is_current(const FileStat& st, Depth depth) const {
  return head_loaded_ && !racy_ && st == head_.stat && has_locked(depth);
}

/// A log that was read just after it was written, and is so short that all its bytes can be compared: to read it anew
/// would make another generation of one that has nothing to grow from.
bool Session::is_same_after_all(const FileStat& st, Depth depth) const {
  if (!head_loaded_ || !whole_mark_ || !(st == head_.stat) || !has_locked(depth)) {
    return false;
  }
  const auto same = whole_mark_->is_of(*log_);
  return same && *same;
}

Result<void> Session::refresh_locked(Depth depth, const Result<FileStat>& now, const std::atomic<bool>* cancelled) {
  if (!now) {
    return fail(now.error());
  }
  {
    const std::shared_lock lock(mutex_);
    if (gone_) {
      return Error{Errc::not_found, "the log is gone"};
    }
    depth = std::max(depth, details_ ? Depth::details : index_ ? Depth::index : log_ ? Depth::raw : Depth::head);
  }
  if (is_current(*now, depth)) {
    age_tail(*now);
    return {};
  }
  const std::int64_t started = now_ns();
  if (is_same_after_all(*now, depth)) {
    racy_ = started - now->mtime_ns < kRacyNanos;
    age_tail(*now);
    return {};
  }
  has_loaded_ = true;
  if (auto done = take_in(*now, depth, cancelled); !done) {
    return done.error().code == Errc::interrupted ? done : fail(done.error());
  }
  racy_ = started - now->mtime_ns < kRacyNanos;
  age_tail(*now);
  return {};
}

Result<void> Session::take_in(const FileStat& st, Depth depth, const std::atomic<bool>* cancelled) {
  if (depth == Depth::head) {
    return load_head(st);
  }
  if (depth == Depth::raw) {
    return load_raw(st);
  }
  const bool unchanged = is_current(st, Depth::index) || is_same_after_all(st, Depth::index);
  if (!unchanged) {
    bool grown = false;
    if (index_ && log_ && log_->opened().same_file(st) && !log_->is_decoded()) {
      auto growth = grow_index(st);
      if (!growth && growth.error().code != Errc::stale) {
        return growth.error();
      }
      grown = growth && *growth;
    }
    if (!grown) {
      return load_index(st, depth, cancelled);
    }
  }
  return depth == Depth::details && !details_ ? load_details(cancelled) : Result<void>{};
}

Result<void> Session::fail(const Error& error) {
  bool news = false;
  {
    const std::unique_lock lock(mutex_);
    news = head_.problem != error.message;
    head_.problem = error.message;
    head_loaded_ = false;
    if (news) {
      ++epoch_;
    }
  }
  if (news && error.code != Errc::not_found) {
    publish(Change::Kind::session_touched, 0, kNoEntry, kNoEntry);
  }
  return error;
}

/// Copied into place with mutex_ held, so that what is as it was stays where it is: else each time that indexes are
/// read anew would leave holes in the heap where their heads were.
void Session::keep_head(const FileStat& st, const Header& header) {
  head_.stat = st;
  head_.header = header;
  head_.problem.clear();
  head_loaded_ = true;
}

Result<void> Session::load_head(const FileStat& st) {
  auto log = shared_.store->open(place());
  if (!log) {
    return log.error();
  }
  auto header = read_header(**log);
  if (!header) {
    return header.error();
  }
  bool news = false;
  {
    const std::unique_lock lock(mutex_);
    news = head_loaded_ && !(head_.stat == st);
    keep_head(st, *header);
    ++epoch_;
  }
  if (news) {
    publish(Change::Kind::session_touched, 0, kNoEntry, kNoEntry);
  }
  return {};
}

/// Whether all that was known of the log's bytes behind the slot is still there. Not told of a log whose index is
/// loaded, which can tell itself.
Result<bool> Session::keeps_bytes(const LogFile& log, const FileStat& st, const std::string& slot) const {
  if (!log_mark_ || !log_->opened().same_file(log.opened()) || st.size < head_.stat.size) {
    return false;
  }
  if (st.size == head_.stat.size && st.mtime_ns != head_.stat.mtime_ns && slot == slot_bytes_) {
    return false;  // written, yet neither longer nor retitled: something in the middle may have changed
  }
  return log_mark_->is_of(log);
}

Result<void> Session::load_raw(const FileStat& st) {
  const bool is_open = log_ && log_->opened().same_file(st) && !log_->is_decoded();
  auto log = is_open ? Result<std::shared_ptr<const LogFile>>(log_) : shared_.store->open(place());
  auto header = log ? read_header(**log) : Result<Header>(log.error());
  auto slot = header ? slot_of(**log, *header) : Result<std::string>(header.error());
  auto mark = slot ? LogMark::of(**log, slot->size(), st.size) : Result<LogMark>(slot.error());
  const auto kept = mark ? keeps_bytes(**log, st, *slot) : Result<bool>(mark.error());
  if (!kept) {
    return kept.error();
  }
  bool news = false;
  std::uint32_t lost_generation = 0;
  {
    const std::unique_lock lock(mutex_);
    const bool raw_goes_on = *kept && *slot == slot_bytes_;
    news = raw_generation_ != 0 && (!raw_goes_on || !(st == head_.stat));
    if (!raw_goes_on) {
      raw_generation_ = ++shared_.generations;
    }
    if (!*kept) {
      lost_generation = std::exchange(generation_, 0);
      let_go_.reset();
    }
    if (!raw_goes_on || !(st == head_.stat)) {
      tail_aged_ = false;
      ++epoch_;
    }
    keep_head(st, *header);
    log_ = std::move(log).value();
    slot_bytes_ = std::move(slot).value();
    whole_mark_.reset();
    log_mark_ = *mark;
  }
  if (lost_generation != 0) {
    forget_documents(lost_generation);
    publish(Change::Kind::session_rewritten, lost_generation, kNoEntry, kNoEntry);
  } else if (news) {
    publish(Change::Kind::session_touched, 0, kNoEntry, kNoEntry);
  }
  return {};
}

/// Gathers the details of a whole log.
Result<std::unique_ptr<LogDetails>> Session::read_details(const LogFile& log, const LogIndex& index,
                                                          const std::atomic<bool>* cancelled) {
  auto details = std::make_unique<LogDetails>(index.flavour());
  std::vector<Entry> entries;
  entries.reserve(index.size());
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    entries.push_back(index.entry(ordinal));
  }
  auto delta = details->read(log, 1, entries, cancelled);
  if (!delta) {
    return delta.error();
  }
  details->apply(std::move(delta).value());
  return details;
}

Result<void> Session::load_index(const FileStat& st, Depth depth, const std::atomic<bool>* cancelled) {
  const LongWork working(works_long_, st.size);
  auto log = shared_.store->open(place());
  if (!log) {
    return log.error();
  }
  LogIndex::Options options;
  options.cancelled = cancelled;
  DetailsNoter noter(**log);
  options.noter = depth == Depth::details ? &noter : nullptr;
  auto index = LogIndex::build(**log, options);
  if (!index) {
    return index.error();
  }
  std::unique_ptr<LogDetails> details;
  if (depth == Depth::details) {
    details = std::make_unique<LogDetails>(noter.take_details((*index)->flavour()));
  }
  auto slot = slot_of(**log, (*index)->header());
  if (!slot) {
    return slot.error();
  }
  const auto kept = keeps_bytes(**log, st, *slot);
  if (!kept) {
    return kept.error();
  }
  const bool goes_on = *kept && let_go_ && let_go_->mark.is_of(**index);
  auto kept_leaf = shared_.leaves == nullptr ? std::nullopt : shared_.leaves->load(place().file);
  look_for_erased(**log, **index);
  const auto whole_mark =
      st.size <= LogMark::kWhole ? LogMark::of(**log, 0, st.size) : Result<LogMark>(Errc::unsupported, "too long");
  FileStat seen = (*log)->opened();
  seen.mtime_ns = st.mtime_ns;  // what came after that stat is taken in by the next refresh
  std::optional<Change> news;
  {
    const std::unique_lock lock(mutex_);
    const bool raw_goes_on = *kept && *slot == slot_bytes_;
    const bool is_same = raw_goes_on && st == head_.stat;
    news = news_of(**index, goes_on, is_same);
    if (!raw_goes_on) {
      raw_generation_ = ++shared_.generations;
    }
    if (!goes_on) {
      generation_ = ++shared_.generations;
    }
    keep_head(seen.same_file(st) ? st : seen, (*index)->header());
    slot_bytes_ = *slot;  // copied, as the head is
    log_ = std::move(log).value();
    index_ = std::move(index).value();
    details_ = std::move(details);
    log_mark_.reset();
    whole_mark_ = whole_mark && seen.size == st.size ? std::optional(*whole_mark) : std::nullopt;
    let_go_.reset();
    kept_leaf_ = std::move(kept_leaf);
    settle_leaf();
    if (!is_same) {
      tail_aged_ = false;
      ++epoch_;
    }
  }
  if (news && news->kind == Change::Kind::session_rewritten) {
    forget_documents(news->old_generation);
  }
  if (news) {
    publish(std::move(*news));
  }
  return {};
}

/// What an index that was loaded comes to for those who knew the session before.
std::optional<Change> Session::news_of(const LogIndex& loaded, bool goes_on, bool is_same) const {
  Change news;
  news.last = loaded.size();
  if (goes_on && loaded.size() > let_go_->mark.entries()) {
    news.kind = Change::Kind::session_appended;
    news.first = let_go_->mark.entries() + 1;
    return news;
  }
  if (!goes_on && generation_ != 0) {
    news.kind = Change::Kind::session_rewritten;
    news.old_generation = generation_;
    news.first = loaded.size() == kNoEntry ? kNoEntry : 1;
    return news;
  }
  news.kind = Change::Kind::session_touched;
  news.last = kNoEntry;
  return raw_generation_ != 0 && !is_same ? std::optional(news) : std::nullopt;
}

Result<bool> Session::grow_index(const FileStat& st) {
  auto growth = index_->read_growth(*log_);
  if (!growth) {
    return growth.error();
  }
  if (!*growth) {
    return false;
  }
  std::string slot;
  if (!slot_bytes_.empty()) {
    auto line = first_line(*log_);
    if (!line) {
      return line.error();
    }
    slot = std::move(*line);
  }
  if (st.size == head_.stat.size && st.mtime_ns != head_.stat.mtime_ns && slot == slot_bytes_) {
    return false;  // written, yet neither longer nor retitled: something in the middle may have changed
  }
  const Ordinal before = index_->size();
  std::optional<LogDetails::Delta> delta;
  if (details_) {
    auto read = details_->read(*log_, before + 1, index_->new_entries(**growth), nullptr);
    if (!read) {
      return read.error();
    }
    delta = std::move(read).value();
  }
  bool news = false;
  {
    const std::unique_lock lock(mutex_);
    index_->apply(std::move(growth).value());
    settle_leaf();
    if (delta) {
      details_->apply(std::move(*delta));
    }
    const bool raw_changed = slot != slot_bytes_ || st.size < head_.stat.size;
    news = raw_changed || index_->size() != before || !(st == head_.stat);
    if (raw_changed) {
      raw_generation_ = ++shared_.generations;
    }
    slot_bytes_ = std::move(slot);
    whole_mark_.reset();
    keep_head(st, index_->header());
    if (news) {
      tail_aged_ = false;
      ++epoch_;
    }
  }
  if (may_lack_entries_) {
    look_for_erased(*log_, *index_);
  }
  const Ordinal after = index_->size();
  if (after > before) {
    publish(Change::Kind::session_appended, 0, before + 1, after);
  } else if (news) {
    publish(Change::Kind::session_touched, 0, kNoEntry, kNoEntry);
  }
  return true;
}

Result<void> Session::load_details(const std::atomic<bool>* cancelled) {
  const LongWork working(works_long_, head_.stat.size);
  auto read = read_details(*log_, *index_, cancelled);
  if (!read) {
    return read.error();
  }
  const std::unique_lock lock(mutex_);
  details_ = std::move(read).value();
  return {};
}

void Session::age_tail(const FileStat& st) {
  {
    const std::unique_lock lock(mutex_);
    if (!index_ || tail_aged_ || now_ns() - st.mtime_ns < kTailAgeNanos) {
      return;
    }
    tail_aged_ = true;
    const auto damage = index_->damage();
    if (damage.empty() || !damage.back().in_progress) {
      return;
    }
    ++epoch_;
  }
  publish(Change::Kind::session_touched, 0, kNoEntry, kNoEntry);
}

void Session::look_for_erased(const LogFile& log, const LogIndex& index) {
  const auto is_current = [&] {
    const auto now = shared_.store->stat(place());
    return now && now->same_file(log.opened()) && now->size == index.scanned_size();
  };
  may_lack_entries_ =
      shared_.erased != nullptr && !log.is_decoded() && !shared_.erased->compare(place().file, index, is_current);
}

bool Session::let_go() {
  const std::unique_lock refreshing(refresh_mutex_, std::try_to_lock);
  if (!refreshing || !index_ || uses_ != 0 || !is_at_rest()) {
    return false;
  }
  const auto log_mark = LogMark::of(*log_, slot_bytes_.size(), head_.stat.size);
  if (!log_mark || !is_at_rest()) {
    return false;
  }
  const LetGo mark{IndexMark::of(*index_), head_.stat};
  std::unique_ptr<LogIndex> index;  // freed without the lock, as are the details
  std::unique_ptr<LogDetails> details;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || uses_ != 0) {
    return false;
  }
  index = std::move(index_);
  details = std::move(details_);
  moved_leaf_.reset();
  log_mark_ = *log_mark;
  let_go_ = mark;
  return true;
}

/// The log is as it was when it was last read, and nothing is going to change just by its growing older.
bool Session::is_at_rest() const {
  if (!head_loaded_ || racy_ || !tail_aged_ || log_->is_decoded()) {
    return false;
  }
  const auto st = log_->stat();
  return st && *st == head_.stat;
}

}  // namespace arborfs
