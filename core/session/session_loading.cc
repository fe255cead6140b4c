// How a session reads its log. How it reads only the new part: session_growing.cc; when: session_refreshing.cc.
#include <utility>

#include "core/base/result_macros.h"
#include "core/log/log_reader.h"
#include "core/render/record_renderer.h"
#include "core/session/session.h"

namespace arborfs {

namespace {

constexpr std::size_t kMaxSlot = 4096;

/// The first line, newline included; "" when it is longer than any slot.
Result<std::string> first_line(const LogSource& log) {
  std::string bytes(kMaxSlot, '\0');
  ASSIGN_OR_RETURN(auto got, log.read_raw_at(0, bytes));
  bytes.resize(got);
  const std::size_t end = bytes.find('\n');
  return end == std::string::npos ? std::string() : bytes.substr(0, end + 1);
}

/// The bytes of the title slot, "" without one.
Result<std::string> slot_of(const LogSource& log, const Header& header) {
  return header.has_slot ? first_line(log) : Result<std::string>(std::string());
}

/// The log's stat before it was read: `look`, or the stat at open if another file was opened. The next refresh applies
/// later changes. A mixture of the two would make the next check report a write that never happened.
FileStat seen_at(const FileStat& look, const LogSource& log) {
  return log.opened().same_file(look) ? look : log.opened();
}

/// The fingerprint of all bytes of a log; nothing on a read error.
std::optional<ContentFingerprint> whole_mark_of(const LogSource& log, std::uint64_t slot, std::uint64_t size) {
  const auto mark = ContentFingerprint::of_all(log, slot, size);
  return mark ? std::optional(*mark) : std::nullopt;
}

/// The state of a log before it is read, if it is at most `most` bytes long.
class BeforeReading {
 public:
  BeforeReading(const LogSource& log, std::uint64_t size, std::uint64_t most)
      : log_(log), size_(size), mark_(size <= most ? whole_mark_of(log, 0, size) : std::nullopt) {}
  /// The fingerprint of the bytes that were read, after the slot; nothing if another program wrote to them meanwhile.
  [[nodiscard]] std::optional<ContentFingerprint> mark_of_read(const std::string& slot) const {
    const auto mark = slot.empty() || !mark_ ? mark_ : whole_mark_of(log_, slot.size(), size_);
    return is_still_of(mark_, log_) ? mark : std::nullopt;
  }

 private:
  const LogSource& log_;
  const std::uint64_t size_;
  const std::optional<ContentFingerprint> mark_;
};

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

Result<void> Session::load_head(const FileStat& st) {
  ASSIGN_OR_RETURN(auto header, shared_.store->header(place()));
  keep_findings(st, header);
  bool news = false;
  {
    const std::unique_lock lock(mutex_);
    news = head_loaded_ && !(head_.stat == st);
    keep_head(st, header);
    ++epoch_;
  }
  if (news) {
    publish(Change::Kind::session_touched, 0, kNoEntry, kNoEntry);
  }
  return {};
}

/// True if all known bytes of the log after the slot are still there. Always false if its index is loaded, which
/// detects this itself.
Result<bool> Session::keeps_bytes(const LogSource& log, const FileStat& st, const std::string& slot) const {
  if (!log_mark_ || !log_->opened().same_file(log.opened()) || st.size < head_.stat.size) {
    return false;
  }
  if (st.size == head_.stat.size && st.mtime_ns != head_.stat.mtime_ns && slot == slot_bytes_) {
    return false;  // written, but neither longer nor retitled: something in the middle may have changed
  }
  return log_mark_->is_of(log);
}

Result<void> Session::load_raw(const FileStat& st) {
  const bool is_open = log_ && log_->opened().same_file(st) && !log_->is_decoded();
  auto log = is_open ? Result<std::shared_ptr<const LogSource>>(log_) : shared_.store->open(place());
  auto header = log ? format().reader->read_header(**log) : Result<Header>(log.error());
  auto slot = header ? slot_of(**log, *header) : Result<std::string>(header.error());
  const FileStat seen = slot ? seen_at(st, **log) : st;
  if (slot) {
    keep_findings(seen, *header);
  }
  auto mark = slot ? ContentFingerprint::of(**log, slot->size(), seen.size) : Result<ContentFingerprint>(slot.error());
  const auto kept = mark ? keeps_bytes(**log, seen, *slot) : Result<bool>(mark.error());
  if (!kept) {
    return kept.error();
  }
  bool news = false;
  std::uint32_t lost_generation = 0;
  {
    const std::unique_lock lock(mutex_);
    const bool raw_goes_on = *kept && *slot == slot_bytes_;
    news = raw_generation_ != 0 && (!raw_goes_on || !(seen == head_.stat));
    if (!raw_goes_on) {
      raw_generation_ = ++shared_.generations;
    }
    if (!*kept) {
      bytes_generation_ = ++shared_.generations;
      lost_generation = std::exchange(generation_, 0);
      revisions_.clear();
      let_go_.reset();
    }
    if (!raw_goes_on || !(seen == head_.stat)) {
      tail_aged_ = false;
      ++epoch_;
    }
    keep_head(seen, *header);
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

/// Reads the details of a whole log.
Result<std::unique_ptr<TextSizes>> Session::read_details(const LogSource& log, const LogIndex& index,
                                                         const std::atomic<bool>* cancelled) const {
  ASSIGN_OR_RETURN(auto details, measure_log(*format().renderer, log, index, cancelled));
  return std::make_unique<TextSizes>(std::move(details));
}

Result<void> Session::load_index(const FileStat& st, Depth depth, const std::atomic<bool>* cancelled) {
  const LongWork working(works_long_, st.size);
  auto log = shared_.store->open(place());
  if (!log) {
    return log.error();
  }
  const FileStat seen = seen_at(st, **log);
  const BeforeReading before(**log, seen.size, format().reader->most_compared());
  auto index = format().reader->index(**log, {cancelled});
  if (!index) {
    return index.error();
  }
  std::unique_ptr<TextSizes> details;
  if (depth == Depth::details) {
    ASSIGN_OR_RETURN(details, read_details(**log, **index, cancelled));
  }
  ASSIGN_OR_RETURN(auto slot, slot_of(**log, (*index)->header()));
  const bool is_read_again = index_ && seen == head_.stat && (*index)->lies_as(*index_);
  ASSIGN_OR_RETURN(const auto keeps, keeps_bytes(**log, st, slot));
  const bool kept = keeps || is_read_again;
  const auto kept_entries = entries_kept(**index, kept);
  auto kept_leaf = shared_.leaves == nullptr ? std::nullopt : shared_.leaves->load(place().file);
  look_for_erased(**log, **index);
  const auto whole_mark = before.mark_of_read(slot);
  std::optional<Change> news;
  {
    const std::unique_lock lock(mutex_);
    const bool raw_goes_on = kept && slot == slot_bytes_;
    const bool is_same =
        raw_goes_on && st == head_.stat && (*index)->header().of_other_agent == head_.header.of_other_agent;
    news = news_of(**index, kept_entries, is_same);
    if (!raw_goes_on) {
      raw_generation_ = ++shared_.generations;
    }
    if (!kept) {
      bytes_generation_ = ++shared_.generations;
    }
    number_entries(**index, kept_entries);
    keep_head(seen, (*index)->header());
    slot_bytes_ = slot;  // copied, like the head
    log_ = std::move(log).value();
    index_ = std::move(index).value();
    details_ = std::move(details);
    log_mark_.reset();
    whole_mark_ = whole_mark;
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

/// How many entries of the previous state a loaded index begins with; nothing if settled ones are not among them.
/// `keeps_bytes`: the log still has all bytes of that state.
std::optional<Ordinal> Session::entries_kept(const LogIndex& loaded, bool keeps_bytes) const {
  if (index_) {
    const Ordinal common = loaded.common_entries(*index_);
    const bool begins_so = common == index_->size() ? loaded.begins_with(*index_) : common >= settled_ && common > 0;
    return begins_so ? std::optional(common) : std::nullopt;
  }
  const bool goes_on = keeps_bytes && let_go_ && let_go_->mark.is_of(loaded);
  return goes_on ? std::optional(let_go_->mark.entries()) : std::nullopt;
}

/// True if entries after the kept ones were there before, and are gone or have changed.
bool Session::is_revised(std::optional<Ordinal> kept) const {
  return kept && index_ && *kept < index_->size();
}

/// Gives entries that are not those of the previous state a generation of their own. Call it under mutex_.
void Session::number_entries(const LogIndex& loaded, std::optional<Ordinal> kept) {
  if (!kept) {
    generation_ = ++shared_.generations;
    revisions_.clear();
    settled_ = 0;
  } else if (is_revised(kept)) {
    std::erase_if(revisions_, [&](const Revision& known) { return known.first > *kept; });
    revisions_.push_back({*kept + 1, ++shared_.generations});
  }
  settled_ = std::max(settled_, loaded.settled());
}

/// The change to publish for an index that was loaded, as seen by readers of the session's previous state.
std::optional<Change> Session::news_of(const LogIndex& loaded, std::optional<Ordinal> kept, bool is_same) const {
  Change news;
  news.last = loaded.size();
  if (is_revised(kept)) {
    news.kind = Change::Kind::session_revised;
    news.first = std::min(*kept + 1, news.last);
    return news;
  }
  if (kept && loaded.size() > *kept) {
    news.kind = Change::Kind::session_appended;
    news.first = *kept + 1;
    return news;
  }
  if (!kept && generation_ != 0) {
    news.kind = Change::Kind::session_rewritten;
    news.old_generation = generation_;
    news.first = loaded.size() == kNoEntry ? kNoEntry : 1;
    return news;
  }
  news.kind = Change::Kind::session_touched;
  news.last = kNoEntry;
  return raw_generation_ != 0 && !is_same ? std::optional(news) : std::nullopt;
}

/// The current bytes of the slot, of a log that had one.
Result<std::string> Session::current_slot() const {
  return slot_bytes_.empty() ? Result<std::string>(std::string()) : first_line(*log_);
}

Result<void> Session::load_details(const std::atomic<bool>* cancelled) {
  const LongWork working(works_long_, head_.stat.size);
  ASSIGN_OR_RETURN(auto read, read_details(*log_, *index_, cancelled));
  const std::unique_lock lock(mutex_);
  details_ = std::move(read);
  return {};
}

void Session::expect_own_log(const FileStat& stat) {
  const std::lock_guard refreshing(refresh_mutex_);
  own_log_ = stat;
}

void Session::look_for_erased(const LogSource& log, const LogIndex& index) {
  if (own_log_ && log.opened() == *own_log_) {
    may_lack_entries_ = false;
    return;
  }
  const auto is_current = [&] {
    const auto now = shared_.store->stat(place());
    return now && now->same_file(log.opened()) && now->size == index.scanned_size();
  };
  may_lack_entries_ =
      shared_.erased != nullptr && !log.is_decoded() && !shared_.erased->compare(place().file, index, is_current);
}

}  // namespace arborfs
