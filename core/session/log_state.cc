#include "core/session/log_state.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/entry/record_renderer.h"
#include "core/log/log_reader.h"

namespace arborfs {

namespace {

constexpr std::uint64_t kAtEitherEnd = std::uint64_t{4} << 10U;
constexpr std::uint64_t kPiece = std::uint64_t{64} << 10U;
constexpr std::size_t kMaxSlot = 4096;
/// A write changes a file's mtime before it changes its size and its bytes.
constexpr std::chrono::milliseconds kWriteInProgress{1};

template <class Numbers>
std::uint64_t hash_of(const Numbers& numbers, std::uint64_t seed) {
  return xxh64({reinterpret_cast<const char*>(numbers.data()), sizeof(numbers)}, seed);
}

/// Includes the entry's place in the tree: a later entry may become its parent.
std::uint64_t hash_of(const LogIndex& index, Ordinal ordinal, std::uint64_t seed) {
  const Entry& entry = index.entry(ordinal);
  const EntryId id = index.id(ordinal);
  const bool is_found = !index.has_duplicate_ids() || index.find(id) == ordinal;
  const std::array<std::uint64_t, 7> numbers = {entry.offset,
                                                index.length(ordinal),
                                                static_cast<std::uint64_t>(entry.timestamp_ms),
                                                index.parent(ordinal),
                                                index.named_before(ordinal),
                                                static_cast<std::uint64_t>(entry.type) << 8U | entry.flags,
                                                (is_found ? 2U : 0U) + (index.is_orphan(ordinal) ? 1U : 0U)};
  return xxh64(index.name(ordinal), xxh64(id.text, hash_of(numbers, seed)));
}

/// Leaves out damage that is still being written.
std::uint64_t hash_of_damage(const LogIndex& index, std::uint64_t until, std::uint64_t seed) {
  for (const Damage& run : index.damage()) {
    if (!run.in_progress && run.offset < until) {
      seed = hash_of(std::array{run.offset, run.length, static_cast<std::uint64_t>(run.kind)}, seed);
    }
  }
  return seed;
}

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

/// The log's stat before it was read: `st`, or the stat at open if another file was opened. The next refresh applies
/// later changes. A mixture of the two would make the next check report a write that never happened.
FileStat seen_at(const FileStat& st, const LogSource& log) {
  return log.opened().same_file(st) ? st : log.opened();
}

/// False without a fingerprint, and on a read error.
bool is_still_of(const std::optional<ContentFingerprint>& mark, const LogSource& log) {
  const auto same = mark ? mark->is_of(log) : Result<bool>(false);
  return same && *same;
}

/// The fingerprint of all bytes of a log; nothing on a read error.
std::optional<ContentFingerprint> whole_mark_of(const LogSource& log, std::uint64_t slot, std::uint64_t size) {
  const auto mark = ContentFingerprint::make(log, slot, size, ContentFingerprint::Of::all);
  return mark ? std::optional(*mark) : std::nullopt;
}

Change touched() {
  return {};
}

}  // namespace

std::uint32_t Versions::of(Ordinal entry) const {
  const auto after = std::upper_bound(revisions.begin(), revisions.end(), entry,
                                      [](Ordinal wanted, const Revision& revision) { return wanted < revision.first; });
  return after == revisions.begin() ? entries : std::prev(after)->version;
}

ContentFingerprint::ContentFingerprint(std::uint64_t slot, std::uint64_t size, Of which)
    : slot_(std::min(slot, size)), size_(size), which_(which), hash_(size) {}

/// Adds the bytes from `from` to `to`, as far as the log has them.
Result<void> ContentFingerprint::add(const LogSource& log, std::uint64_t from, std::uint64_t to) {
  std::string bytes;
  while (from < to) {
    bytes.resize(std::min(to - from, kPiece));
    ASSIGN_OR_RETURN(const auto got, log.read_raw_at(from, bytes));
    bytes.resize(got);
    hash_ = xxh64(bytes, hash_);
    from += got;
    if (got == 0) {
      break;
    }
  }
  return {};
}

Result<ContentFingerprint> ContentFingerprint::make(const LogSource& log, std::uint64_t slot, std::uint64_t size,
                                                    Of which) {
  ContentFingerprint mark(slot, size, which);
  if (which == Of::all) {
    RETURN_IF_ERROR(mark.add(log, mark.slot_, size));
    return mark;
  }
  RETURN_IF_ERROR(mark.add(log, mark.slot_, std::min(size, mark.slot_ + kAtEitherEnd)));
  RETURN_IF_ERROR(mark.add(log, std::max(mark.slot_, size - std::min(size, kAtEitherEnd)), size));
  return mark;
}

Result<bool> ContentFingerprint::is_of(const LogSource& log) const {
  ASSIGN_OR_RETURN(const auto now, make(log, slot_, size_, which_));
  return now.hash_ == hash_;
}

IndexFingerprint::IndexFingerprint(const LogIndex& index, Ordinal entries) : entries_(entries) {
  const std::array<std::uint64_t, 3> rules = {static_cast<std::uint64_t>(index.dialect()), index.gives_ids() ? 1U : 0U,
                                              index.has_duplicate_ids() ? 1U : 0U};
  hash_ = hash_of(rules, entries);
  for (Ordinal ordinal = 1; ordinal <= entries; ++ordinal) {
    hash_ = hash_of(index, ordinal, hash_);
  }
  hash_ = hash_of_damage(index, entries == kNoEntry ? 0 : index.entry(entries).offset, hash_);
}

bool IndexFingerprint::is_of(const LogIndex& index) const {
  return index.size() >= entries_ && IndexFingerprint(index, entries_).hash_ == hash_;
}

LogState::LogState(const Store& of, FoundLog& found)
    : store(of), format(of.format_of(found.place)), noted(nothing_noted()) {
  head.stat = found.stat;
  if (found.head) {
    head.header = std::move(found.head->header);
    show_noted();
    has_head = true;
    is_racy = is_younger(found.stat.mtime_ns, found.head->read_ns, kRacyNanos);
    ++versions.epoch;
  }
}

const Format& LogState::owner() const {
  const Format* const found = store.owner_of(head.header);
  return found == nullptr ? format : *found;
}

bool LogState::has(Depth wanted) const {
  return wanted == Depth::head ? has_head : wanted <= depth();
}

Depth LogState::depth() const {
  return details ? Depth::details : index ? Depth::index : log ? Depth::raw : Depth::head;
}

std::size_t LogState::memory_bytes() const {
  return (index ? index->memory_bytes() : 0) + (details ? details->size() * sizeof(std::uint32_t) : 0);
}

bool LogState::is_current(const FileStat& st, Depth wanted) const {
  return has_head && !is_racy && st == head.stat && has(wanted);
}

bool LogState::is_same_after_all(const LogPlace& place, const FileStat& st, Depth wanted) const {
  if (!has_head || !index || !(st == head.stat) || !has(wanted)) {
    return false;
  }
  const auto is_as_read = mark || !log->can_grow() ? Result<bool>(is_still_of(mark, *log)) : index->is_as_read(*log);
  if (!is_as_read || !*is_as_read) {
    return false;
  }
  const auto now = current_slot();
  const auto same = log_to_grow(place);
  return now && *now == slot && same && *same != nullptr && (*same)->metadata() == log->metadata();
}

bool LogState::has_ageing_tail(const FileStat& st) const {
  return index && !is_tail_aged && !is_younger(st.mtime_ns, now_ns(), kTailAgeNanos);
}

std::uint64_t LogState::bytes_to_read(const FileStat& st, Depth wanted) const {
  if (wanted == Depth::head || (wanted == Depth::raw && !index)) {
    const bool is_read_through = wanted == Depth::raw && !log && store.redaction() != nullptr;
    return is_read_through ? st.size : 0;
  }
  const bool is_read_whole = !format.reader->only_grow() && (!(st == head.stat) || is_racy);  // if anything changed
  const bool goes_on = index && log->opened().same_file(st) && !is_read_whole;
  const std::uint64_t read = goes_on && log->is_decoded() ? head.stat.size : goes_on ? index->scanned_size() : 0;
  const std::uint64_t indexed = std::min(read, st.size);
  return st.size - indexed + (wanted == Depth::details && !details ? st.size : 0);
}

bool LogState::is_at_rest() const {
  if (!has_head || is_racy || !is_tail_aged || !log->can_grow()) {
    return false;
  }
  const auto st = log->stat();
  return st && *st == head.stat;
}

Result<LogReading> LogState::read_head(const LogPlace& place, const FileStat& st) const {
  LogReading read;
  read.stat = st;
  ASSIGN_OR_RETURN(read.header, store.header(place));
  keep_findings(st, read.header);
  return read;
}

Result<LogReading> LogState::read_raw(const LogPlace& place, const FileStat& st) const {
  LogReading read;
  const bool is_open = log && log->opened().same_file(st) && log->can_grow();
  ASSIGN_OR_RETURN(read.log, is_open ? Result<std::shared_ptr<const LogSource>>(log) : store.open(place));
  ASSIGN_OR_RETURN(read.header, format.reader->read_header(*read.log));
  ASSIGN_OR_RETURN(read.slot, slot_of(*read.log, read.header));
  read.stat = seen_at(st, *read.log);
  keep_findings(read.stat, read.header);
  ASSIGN_OR_RETURN(read.mark,
                   ContentFingerprint::make(*read.log, read.slot.size(), read.stat.size, ContentFingerprint::Of::ends));
  ASSIGN_OR_RETURN(read.keeps_bytes, keeps_bytes(read));
  read.kept = read.keeps_bytes ? std::optional(kNoEntry) : std::nullopt;
  return read;
}

Result<LogReading> LogState::read_index(const LogPlace& place, const FileStat& st, Depth wanted,
                                        const std::stop_token& stop) const {
  LogReading read;
  ASSIGN_OR_RETURN(read.log, store.open(place));
  read.stat = seen_at(st, *read.log);
  const bool is_short = read.stat.size <= format.reader->most_compared();
  const auto before = is_short ? whole_mark_of(*read.log, 0, read.stat.size) : std::nullopt;
  ASSIGN_OR_RETURN(read.index, format.reader->index(*read.log, stop));
  if (wanted == Depth::details) {
    ASSIGN_OR_RETURN(read.details, read_details(*read.log, *read.index, stop));
  }
  ASSIGN_OR_RETURN(read.slot, slot_of(*read.log, read.index->header()));
  const bool is_read_again = index && read.stat == head.stat && read.index->lies_as(*index);
  ASSIGN_OR_RETURN(const bool keeps, keeps_bytes(read));
  read.keeps_bytes = keeps || is_read_again;
  read.kept = entries_kept(*read.index, read.keeps_bytes);
  read.is_other = read.index->header().of_other_agent != head.header.of_other_agent;
  const auto mark_after =
      read.slot.empty() || !before ? before : whole_mark_of(*read.log, read.slot.size(), read.stat.size);
  read.mark = is_still_of(before, *read.log) ? mark_after : std::nullopt;  // if no program wrote to it meanwhile
  return read;
}

Result<std::unique_ptr<TextSizes>> LogState::read_details(const LogSource& of, const LogIndex& in,
                                                          const std::stop_token& stop) const {
  ASSIGN_OR_RETURN(auto read, measure_log(*format.renderer, of, in, stop));
  return std::make_unique<TextSizes>(std::move(read));
}

/// The head of a grown log shows less than was read before.
void LogState::keep_findings(const FileStat& st, Header& header) const {
  const bool has_grown =
      has_head && head.stat.same_file(st) && st.size >= head.stat.size && head.header.id == header.id;
  if (has_grown) {
    format.reader->keep_findings(head.header, header);
  }
}

/// True if all known bytes of the log after the slot are still there. Always false if its index is loaded, which
/// detects this itself.
Result<bool> LogState::keeps_bytes(const LogReading& read) const {
  if (index || !mark || !log->opened().same_file(read.log->opened()) || read.stat.size < head.stat.size) {
    return false;
  }
  if (read.stat.size == head.stat.size && read.stat.mtime_ns != head.stat.mtime_ns && read.slot == slot) {
    return false;  // written, but neither longer nor retitled: something in the middle may have changed
  }
  return mark->is_of(*read.log);
}

/// How many entries of this state a loaded index begins with; nothing if settled ones are not among them.
std::optional<Ordinal> LogState::entries_kept(const LogIndex& loaded, bool keeps_bytes) const {
  if (index) {
    const Ordinal common = loaded.common_entries(*index);
    const bool begins_so =
        common == index->size() ? loaded.begins_with(*index) : common >= versions.settled && common > 0;
    return begins_so ? std::optional(common) : std::nullopt;
  }
  const bool goes_on = keeps_bytes && evicted && evicted->mark.is_of(loaded);
  return goes_on ? std::optional(evicted->mark.entries()) : std::nullopt;
}

/// The log with the current data that its agent keeps outside of it; null if another log has replaced it.
Result<std::shared_ptr<const LogSource>> LogState::log_to_grow(const LogPlace& place) const {
  if (log->has_current_metadata()) {
    return log;
  }
  ASSIGN_OR_RETURN(auto now, store.open(place));
  return now->opened().same_file(log->opened()) ? std::move(now) : nullptr;
}

/// The current bytes of the slot, of a log that had one.
Result<std::string> LogState::current_slot() const {
  return slot.empty() ? Result<std::string>(std::string()) : first_line(*log);
}

/// True if known bytes of the log were written, although it is no longer than before and has the same title.
bool LogState::is_written_within(const LogReading& grown) const {
  const bool has_only_metadata =
      grown.log != log && grown.stat == grown.log->opened() && grown.log->opened_bytes() == log->opened_bytes();
  return grown.stat.size == head.stat.size && grown.stat.mtime_ns != head.stat.mtime_ns && grown.slot == slot &&
         !has_only_metadata;
}

/// False if the log must be read again from the start.
Result<bool> LogState::read_new_part(LogReading& grown) const {
  ASSIGN_OR_RETURN(grown.growth, index->read_growth(*grown.log));
  if (grown.growth == nullptr) {
    return false;
  }
  ASSIGN_OR_RETURN(grown.slot, current_slot());
  return true;
}

Result<std::optional<LogReading>> LogState::read_growth(const LogPlace& place, const FileStat& st) const {
  constexpr int kTries = 10;
  using FromStart = std::optional<LogReading>;
  LogReading grown;
  if (!index || !log->opened().same_file(st) || !log->can_grow()) {
    return FromStart();
  }
  ASSIGN_OR_RETURN(grown.log, log_to_grow(place));
  if (grown.log == nullptr) {
    return FromStart();
  }
  grown.stat = grown.log == log ? st : grown.log->opened();
  ASSIGN_OR_RETURN(bool goes_on, read_new_part(grown));
  // A write in progress must not be mistaken for one in the middle of the log, nor its slot for the older one: the next
  // check would find the stat unchanged and never read the bytes that were written meanwhile.
  for (int i = 0; i < kTries && goes_on; ++i) {
    const bool may_be_under_way = is_written_within(grown);
    if (may_be_under_way) {
      std::this_thread::sleep_for(kWriteInProgress);
    }
    const auto now = grown.log->stat();
    if (!now || now->size < grown.stat.size || (*now == grown.stat && !may_be_under_way)) {
      break;
    }
    grown.stat = *now;
    ASSIGN_OR_RETURN(goes_on, read_new_part(grown));
  }
  if (!goes_on || (is_written_within(grown) && !is_still_of(mark, *grown.log))) {
    return FromStart();
  }
  if (details) {
    const auto entries = index->new_entries(*grown.growth);
    ASSIGN_OR_RETURN(grown.delta, format.renderer->measure(*grown.log, details->next(), entries, {}));
  }
  grown.keeps_bytes = grown.stat.size >= head.stat.size;
  grown.kept = index->size();
  grown.mark = grown.stat.size == head.stat.size ? mark : std::nullopt;
  grown.is_other = grown.log->metadata() != log->metadata();
  return std::optional(std::move(grown));
}

std::optional<Change> LogState::apply(LogReading read, std::atomic<std::uint32_t>& numbers) {
  if (read.log == nullptr) {
    return apply_head(read);
  }
  const std::uint32_t generation = versions.entries;
  const bool was_read = versions.raw != 0;
  const bool is_revised = read.kept && index && *read.kept < index->size();
  const bool raw_goes_on = read.keeps_bytes && read.slot == slot;
  const bool has_same_stat = read.stat == head.stat;
  if (read.growth) {
    apply_growth(read);
  } else if (read.index) {
    index = std::move(read.index);
    details = std::move(read.details);
    kept_leaf = std::move(read.leaf);
    resolve_leaf();
  }
  versions.raw = raw_goes_on ? versions.raw : ++numbers;
  versions.bytes = read.keeps_bytes ? versions.bytes : ++numbers;
  number(read.kept, is_revised, numbers);
  keep_head(read.stat, index ? index->header() : read.header);
  log = std::move(read.log);
  slot = std::move(read.slot);
  mark = read.mark;
  const bool has_grown = read.kept && index && index->size() > *read.kept;
  const bool is_same = raw_goes_on && has_same_stat && !read.is_other && !has_grown;
  if (!is_same) {
    is_tail_aged = false;
    ++versions.epoch;
  }
  auto change = change_of_entries(read.kept, is_revised, generation);
  return change || is_same || !was_read ? change : std::optional(touched());
}

/// The change of the entries since the state that had `kept` of them; nothing if they are the same.
std::optional<Change> LogState::change_of_entries(std::optional<Ordinal> kept, bool is_revised,
                                                  std::uint32_t generation) const {
  Change change;
  change.last = index ? index->size() : kNoEntry;
  if (is_revised) {
    change.kind = Change::Kind::session_revised;
    change.first = std::min(*kept + 1, change.last);
  } else if (kept && change.last > *kept) {
    change.kind = Change::Kind::session_appended;
    change.first = *kept + 1;
  } else if (!kept && generation != 0) {
    change.kind = Change::Kind::session_rewritten;
    change.old_generation = generation;
    change.first = std::min(change.last, Ordinal{1});
  } else {
    return std::nullopt;
  }
  return change;
}

std::optional<Change> LogState::apply_head(const LogReading& read) {
  const bool is_other = has_head && !(head.stat == read.stat);
  keep_head(read.stat, read.header);
  ++versions.epoch;
  return is_other ? std::optional(touched()) : std::nullopt;
}

void LogState::apply_growth(LogReading& read) {
  try {
    index->apply(std::move(read.growth));
    resolve_leaf();
    if (read.delta) {
      details->apply(std::move(*read.delta));
      details->set_session_cost(index->header().cost);
    }
  } catch (const std::bad_alloc&) {  // a partly grown index is read again
    index.reset();
    details.reset();
    moved_leaf.reset();
    throw;
  }
}

/// Gives entries that are not those of the state before a version of their own.
void LogState::number(std::optional<Ordinal> kept, bool is_revised, std::atomic<std::uint32_t>& numbers) {
  if (!kept) {
    versions.entries = index ? ++numbers : 0;
    versions.revisions.clear();
    versions.settled = 0;
  } else if (is_revised) {
    std::erase_if(versions.revisions, [&](const auto& known) { return known.first > *kept; });
    versions.revisions.push_back({*kept + 1, ++numbers});
  }
  versions.settled = std::max(versions.settled, index ? index->settled() : kNoEntry);
  if (index || !kept) {
    evicted.reset();
  }
}

/// Copied into place, so that unchanged parts stay where they are in memory: otherwise each reload of indexes would
/// leave holes in the heap where the old heads were.
void LogState::keep_head(const FileStat& st, const Header& header) {
  head.stat = st;
  head.header = header;
  head.problem.clear();
  has_head = true;
  own_title_.reset();
  show_noted();
}

/// Call it after any change to its inputs; with a new head, own_title_ is not set.
void LogState::show_noted() {
  if (!format.takes("title")) {
    own_title_ = own_title_.value_or(head.header.title);
    head.header.title = noted->title.empty() ? *own_title_ : noted->title;
  }
  if (index && !format.takes("label")) {
    std::vector<Label> labels;
    for (const auto& [entry, text] : noted->labels) {
      labels.push_back({{EntryId::Kind::string, entry}, text});
    }
    index->note_labels(std::move(labels));
  }
}

std::optional<Change> LogState::apply(NotedPtr now) {
  const bool is_same = *now == *noted;
  noted = std::move(now);
  if (is_same) {
    return std::nullopt;
  }
  show_noted();
  ++versions.epoch;
  return touched();
}

/// Call it after any change to its inputs.
void LogState::resolve_leaf() {
  moved_leaf = kept_leaf && index ? kept_leaf->in(*index) : std::nullopt;
}

std::optional<Change> LogState::apply(std::optional<KeptLeaf> leaf) {
  const auto before = moved_leaf;
  const bool is_other = kept_leaf != leaf;
  kept_leaf = std::move(leaf);
  resolve_leaf();
  if (evicted ? !is_other : moved_leaf == before) {
    return std::nullopt;
  }
  ++versions.epoch;
  return touched();
}

std::optional<Change> LogState::fail(const Error& error) {
  const bool is_other = head.problem != error.message;
  head.problem = error.message;
  has_head = false;
  versions.epoch += is_other ? 1 : 0;
  return is_other && error.code != Errc::not_found ? std::optional(touched()) : std::nullopt;
}

std::optional<Change> LogState::age_tail() {
  is_tail_aged = true;
  const auto damage = index->damage();
  if (damage.empty() || !damage.back().in_progress) {
    return std::nullopt;
  }
  ++versions.epoch;
  return touched();
}

std::optional<Change> LogState::begin_anew(std::atomic<std::uint32_t>& numbers) {
  Change change;
  change.kind = Change::Kind::session_rewritten;
  change.old_generation = versions.entries;
  if (versions.entries == 0) {
    return std::nullopt;
  }
  versions.entries = index ? ++numbers : 0;
  versions.revisions.clear();
  evicted.reset();
  ++versions.epoch;
  change.last = index ? index->size() : kNoEntry;
  change.first = std::min(change.last, Ordinal{1});
  return change;
}

void LogState::evict(const IndexFingerprint& of, const ContentFingerprint& ends) {
  index.reset();
  details.reset();
  moved_leaf.reset();
  mark = ends;
  evicted = {of, head.stat};
}

void LogState::clear() {
  is_gone = true;
  head.problem = "the log is gone";
  log.reset();
  index.reset();
  details.reset();
  mark.reset();
  evicted.reset();
}

}  // namespace arborfs
