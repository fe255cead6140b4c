// The indexes that RecordReaders and GrowingReaders make. Not thread-safe, as LogIndex.
#include "core/log/record_reader.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/log/index_state.h"

namespace arborfs {
namespace {

constexpr std::uint64_t kHeadChecked = 4096;
constexpr std::uint64_t kTailChecked = 256;
constexpr std::size_t kCheckStep = 4096;

/// Hashes of bytes of a log that growth does not change, to distinguish growth from a rewrite: of its first bytes, and
/// of the last ones before the place where a scan resumes (CONTRACT.md 3.2).
struct GrowthFingerprint {
  std::uint64_t slot = 0;      // LogScan::slot_end()
  std::uint64_t head_end = 0;  // the head: from the slot to here
  std::uint64_t head = 0;
  std::uint64_t tail_from = 0;  // the tail: from here to where the scan resumes
  std::uint64_t tail = 0;

  /// `slot_end` is 0 for a log without a slot. Errors: io, interrupted.
  static Result<GrowthFingerprint> of(LogWindow& window, std::uint64_t slot_end, std::uint64_t resume);
  /// That of the log after it has grown: does not reread bytes that cannot have changed, and keeps the slot's hash.
  [[nodiscard]] Result<GrowthFingerprint> after_growth(LogWindow& window, std::uint64_t slot_end,
                                                       std::uint64_t resume) const;
  /// True if both are of the same bytes, apart from the slot.
  [[nodiscard]] bool has_same_bytes(const GrowthFingerprint& other) const {
    return head == other.head && tail == other.tail;
  }
};

Result<std::uint64_t> hash_range(LogWindow& window, std::uint64_t from, std::uint64_t to) {
  const auto size = static_cast<std::size_t>(to - from);
  if (size == 0) {
    return xxh64({});
  }
  ASSIGN_OR_RETURN(auto text, window.view(from, size));
  return xxh64(text.substr(0, size));
}

Result<GrowthFingerprint> GrowthFingerprint::of(LogWindow& window, std::uint64_t slot_end, std::uint64_t resume) {
  GrowthFingerprint made;
  made.head_end = std::min(resume, slot_end + kHeadChecked);
  made.tail_from = std::max(slot_end, resume > kTailChecked ? resume - kTailChecked : 0);
  // Hash the tail first: the window still holds it.
  ASSIGN_OR_RETURN(made.tail, hash_range(window, made.tail_from, resume));
  ASSIGN_OR_RETURN(made.slot, hash_range(window, 0, slot_end));
  ASSIGN_OR_RETURN(made.head, hash_range(window, slot_end, made.head_end));
  return made;
}

Result<GrowthFingerprint> GrowthFingerprint::after_growth(LogWindow& window, std::uint64_t slot_end,
                                                          std::uint64_t resume) const {
  GrowthFingerprint made = *this;
  if (head_end != slot_end + kHeadChecked) {
    ASSIGN_OR_RETURN(made, of(window, slot_end, resume));
    made.slot = slot;
    return made;
  }
  made.tail_from = std::max(slot_end, resume > kTailChecked ? resume - kTailChecked : 0);
  ASSIGN_OR_RETURN(made.tail, hash_range(window, made.tail_from, resume));
  return made;
}

/// The end of the last complete line in the first `size` bytes of the log; `from` if no line ends after that.
Result<std::uint64_t> end_of_lines(const LogSource& log, std::uint64_t from, std::uint64_t size,
                                   const std::stop_token& stop) {
  std::string step;
  for (std::uint64_t end = size; end > from;) {
    if (stop.stop_requested()) {
      return Error{Errc::interrupted, "reading the log was cancelled"};
    }
    const std::uint64_t most = step.empty() ? 1 : LogWindow::kStep;  // as a rule, the last byte is a line feed
    const std::uint64_t begin = end - std::min(end - from, most);
    step.resize(static_cast<std::size_t>(end - begin));
    ASSIGN_OR_RETURN(const auto got, log.read_at(begin, std::span(step.data(), step.size())));
    const std::size_t feed = std::string_view(step).substr(0, got).rfind('\n');
    if (feed != std::string_view::npos) {
      return begin + feed + 1;
    }
    end = begin;
  }
  return from;
}

/// Builds an index from the records that a reader finds.
class IndexSink : public RecordSink {
 public:
  explicit IndexSink(IndexState& state) : state_(state) {}

  void set_header(Header header) override { state_.set_header(std::move(header)); }
  Result<void> add(const RecordFields& record, std::uint64_t hash) override {
    if (!state_.has_room()) {
      return too_many_entries();
    }
    state_.admit(record, hash);
    return {};
  }
  void add_damage(std::span<const Damage> places, std::uint64_t records) override {
    state_.losses.damage.insert(state_.losses.damage.end(), places.begin(), places.end());
    state_.losses.malformed += records;
  }
  using RecordSink::leave_out;
  void leave_out(std::string_view type, std::uint64_t count) override { state_.not_shown.add(type, count); }
  void drop_value(std::string_view type) override {
    state_.dropped_values.push_back(state_.values++);
    leave_out(type);
  }
  void set_leaf(Ordinal leaf) override { state_.leaf = leaf; }
  void set_settled(Ordinal entries) override { state_.settled = entries; }
  void set_dialect(DialectNumber dialect) override { state_.dialect = dialect; }
  void set_resume(std::uint64_t offset) override {
    state_.resume = {offset, state_.losses.damage.size(), state_.losses.malformed, state_.not_shown};
  }
  [[nodiscard]] Ordinal size() const override { return state_.entries.size(); }
  [[nodiscard]] Ordinal find(std::string_view id) const override {
    const IdHandle handle = state_.ids.find(id);
    return handle == 0 ? kNoEntry : state_.ids.owner(handle);
  }
  [[nodiscard]] Ordinal parent(Ordinal ordinal) const override {
    const IdHandle handle = state_.entries.at(ordinal).parent;
    return handle == 0 ? kNoEntry : state_.ids.owner(handle);
  }
  [[nodiscard]] std::string id(Ordinal ordinal) const override {
    return state_.ids.get(state_.entries.at(ordinal).id).text;
  }

 private:
  IndexState& state_;
};

struct GrowingState : IndexState {
  explicit GrowingState(const GrowingReader& its_reader) : reader(its_reader) { role_reader = &its_reader; }
  const GrowingReader& reader;
  std::unique_ptr<LogScan> scan;  // has stopped at `resume`
  GrowthFingerprint fingerprint;
};

/// The part of a log after the indexed part.
struct NewPart : LogIndex::Growth {
  std::vector<RecordFields> records;  // their texts are in `texts`
  std::vector<std::uint64_t> hashes;
  std::deque<std::string> texts;
  std::vector<std::uint64_t> dropped_values;
  ScanLosses losses;
  RecordCounts not_shown;
  std::optional<Ordinal> leaf;
  Header header;
  ResumePoint resume;  // its counts are those of this part
  std::unique_ptr<LogScan> scan;
  GrowthFingerprint fingerprint;
  std::uint64_t scanned_size = 0;
};

/// Collects new entries, and has access to the existing ones of the index.
class GrowthSink final : public RecordSink {
 public:
  GrowthSink(const GrowingState& known, NewPart& part) : known_(known), part_(part) {}

  /// True if the index cannot grow by the added entries.
  [[nodiscard]] bool has_conflict() const { return has_conflict_; }

  void set_header(Header header) override { part_.header = std::move(header); }
  Result<void> add(const RecordFields& record, std::uint64_t hash) override {
    const Ordinal ordinal = size() + 1;
    if (ordinal > IndexState::kMostEntries) {
      return too_many_entries();
    }
    has_conflict_ = has_conflict_ || is_known(record);
    part_.records.push_back(with_own_texts(record, part_.texts));
    part_.hashes.push_back(hash);
    if (const IdHandle handle = fresh_.intern(record.id)) {
      fresh_.set_owner(handle, ordinal);
    }
    return {};
  }
  void add_damage(std::span<const Damage> places, std::uint64_t records) override {
    part_.losses.damage.insert(part_.losses.damage.end(), places.begin(), places.end());
    part_.losses.malformed += records;
  }
  using RecordSink::leave_out;
  void leave_out(std::string_view type, std::uint64_t count) override { part_.not_shown.add(type, count); }
  void drop_value(std::string_view type) override {
    part_.dropped_values.push_back(known_.values + part_.records.size() + part_.dropped_values.size());
    leave_out(type);
  }
  void set_leaf(Ordinal leaf) override { part_.leaf = leaf; }
  void set_resume(std::uint64_t offset) override {
    part_.resume = {offset, part_.losses.damage.size(), part_.losses.malformed, part_.not_shown};
  }
  [[nodiscard]] Ordinal size() const override {
    return known_.entries.size() + static_cast<Ordinal>(part_.records.size());
  }
  [[nodiscard]] Ordinal find(std::string_view id) const override {
    const Ordinal found = owner(fresh_, id);
    return found == kNoEntry ? owner(known_.ids, id) : found;
  }
  [[nodiscard]] Ordinal parent(Ordinal ordinal) const override {
    if (ordinal <= known_.entries.size()) {
      const IdHandle handle = known_.entries.at(ordinal).parent;
      return handle == 0 ? kNoEntry : known_.ids.owner(handle);
    }
    const FieldValue& parent = record(ordinal).parent;
    return parent.is_truthy() ? find(parent.text) : kNoEntry;
  }
  [[nodiscard]] std::string id(Ordinal ordinal) const override {
    return ordinal <= known_.entries.size() ? known_.ids.get(known_.entries.at(ordinal).id).text
                                            : std::string(record(ordinal).id.text);
  }

 private:
  /// True if the index knows the id that the record has, or will be given.
  bool is_known(const RecordFields& record) {
    const bool is_given = known_.header.gives_ids && record.entry_type() != EntryType::session;
    return (is_given ? known_.ids.find_hex(known_.made_ids + ++made_ids_) : known_.ids.find(record.id)) != 0;
  }
  static Ordinal owner(const IdTable& ids, std::string_view id) {
    const IdHandle handle = ids.find(id);
    return handle == 0 ? kNoEntry : ids.owner(handle);
  }
  [[nodiscard]] const RecordFields& record(Ordinal ordinal) const {
    return part_.records[ordinal - known_.entries.size() - 1];
  }

  const GrowingState& known_;
  NewPart& part_;
  IdTable fresh_;  // ids of the new entries
  std::uint32_t made_ids_ = 0;
  bool has_conflict_ = false;
};

class GrowingIndex final : public LogIndex {
 public:
  explicit GrowingIndex(std::unique_ptr<GrowingState> state) : LogIndex(std::move(state)) {}
  [[nodiscard]] Result<GrowthPtr> read_growth(const LogSource& log) const override;
  [[nodiscard]] Result<bool> is_as_read(const LogSource& log) const override;
  [[nodiscard]] std::vector<Entry> new_entries(const Growth& growth) const override;
  void apply(GrowthPtr growth) override;
  [[nodiscard]] bool only_grows() const override { return true; }

 private:
  [[nodiscard]] Result<bool> can_grow(const LogSource& log, std::uint64_t size, NewPart& part) const;
  [[nodiscard]] const GrowingState& known() const { return static_cast<const GrowingState&>(state()); }
};

/// False if the log must be read again from the start.
Result<bool> GrowingIndex::can_grow(const LogSource& log, std::uint64_t size, NewPart& part) const {
  if (size < known().resume.offset) {
    return false;
  }
  LogWindow window(log, size, {}, kCheckStep);
  part.scan = known().scan->copy();
  ASSIGN_OR_RETURN(part.fingerprint, GrowthFingerprint::of(window, part.scan->slot_end(), known().resume.offset));
  const bool has_new_slot = part.fingerprint.slot != known().fingerprint.slot;
  return part.fingerprint.has_same_bytes(known().fingerprint) ? part.scan->can_go_on(log, window, has_new_slot)
                                                              : Result<bool>(false);
}

Result<LogIndex::GrowthPtr> GrowingIndex::read_growth(const LogSource& log) const {
  ASSIGN_OR_RETURN(const auto size, log.size());
  auto part = std::make_unique<NewPart>();
  ASSIGN_OR_RETURN(const bool grows, can_grow(log, size, *part));
  if (!grows) {
    return GrowthPtr();
  }
  GrowthSink sink(known(), *part);
  ASSIGN_OR_RETURN(part->header, known().reader.grown_header(log, known().header, known().resume.offset));
  ASSIGN_OR_RETURN(const bool is_read, part->scan->read(log, size, sink, {}));
  if (!is_read || sink.has_conflict()) {
    return GrowthPtr();
  }
  LogWindow window(log, size, {}, kCheckStep);
  ASSIGN_OR_RETURN(part->fingerprint,
                   part->fingerprint.after_growth(window, part->scan->slot_end(), part->resume.offset));
  part->scanned_size = size;
  return GrowthPtr(std::move(part));
}

Result<bool> GrowingIndex::is_as_read(const LogSource& log) const {
  const std::uint64_t resume = known().resume.offset;
  ASSIGN_OR_RETURN(const auto size, log.size());
  if (size != known().scanned_size || size > resume + 1) {
    return false;
  }
  LogWindow window(log, size, {}, kCheckStep);
  ASSIGN_OR_RETURN(const auto behind, window.view(resume, size - resume));
  if (size > resume && behind != "\n") {  // of the last line, before which a scan may stop
    return false;
  }
  ASSIGN_OR_RETURN(const auto now, GrowthFingerprint::of(window, known().scan->slot_end(), resume));
  const bool is_same = now.slot == known().fingerprint.slot && now.has_same_bytes(known().fingerprint);
  return is_same ? known().scan->copy()->can_go_on(log, window, false) : Result<bool>(false);
}

std::vector<Entry> GrowingIndex::new_entries(const Growth& growth) const {
  std::vector<Entry> entries;
  for (const RecordFields& record : static_cast<const NewPart&>(growth).records) {
    Entry& entry = entries.emplace_back();
    entry.offset = record.offset;
    entry.length = record.length < kLongLength ? static_cast<std::uint32_t>(record.length) : kLongLength;
    entry.type = record.entry_type();
  }
  return entries;
}

void GrowingIndex::apply(GrowthPtr growth) {
  auto& grown = static_cast<GrowingState&>(state());
  auto& part = static_cast<NewPart&>(*growth);
  grown.losses.damage.resize(grown.resume.damage);
  grown.losses.damage.insert(grown.losses.damage.end(), part.losses.damage.begin(), part.losses.damage.end());
  grown.losses.malformed = grown.resume.malformed + part.losses.malformed;
  grown.not_shown = grown.resume.not_shown;
  grown.not_shown.add(part.not_shown);
  grown.set_header(std::move(part.header));
  for (std::size_t i = 0; i < part.records.size(); ++i) {
    grown.admit(part.records[i], part.hashes[i]);
  }
  grown.values += part.dropped_values.size();
  grown.dropped_values.insert(grown.dropped_values.end(), part.dropped_values.begin(), part.dropped_values.end());
  grown.labels.settle();
  grown.leaf = part.leaf;
  grown.resume.offset = part.resume.offset;
  grown.resume.damage += part.resume.damage;
  grown.resume.malformed += part.resume.malformed;
  grown.resume.not_shown.add(part.resume.not_shown);
  grown.scan = std::move(part.scan);
  grown.fingerprint = part.fingerprint;
  grown.scanned_size = part.scanned_size;
}

}  // namespace

Result<std::unique_ptr<LogIndex>> RecordReader::index(const LogSource& log, const std::stop_token& stop) const {
  ASSIGN_OR_RETURN(const auto size, log.size());
  auto state = std::make_unique<IndexState>();
  state->role_reader = this;
  state->header.problem = "the log is empty";
  state->has_hashes = true;
  IndexSink sink(*state);
  RETURN_IF_ERROR(read(log, sink, stop));
  state->scanned_size = size;
  state->finish();
  return std::make_unique<LogIndex>(std::move(state));
}

Result<bool> LineScan::read(const LogSource& log, std::uint64_t size, RecordSink& sink, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(end_, end_of_lines(log, std::max(end_, growing_part(log)), size, stop));
  RETURN_IF_ERROR(read_to(log, end_, sink, stop));
  sink.set_resume(end_);
  if (end_ == size) {
    finish(sink);
    return true;
  }
  const Ordinal settled = sink.size();
  const auto copied = copy();
  auto& rest = static_cast<LineScan&>(*copied);
  RETURN_IF_ERROR(rest.read_to(log, size, sink, stop));
  rest.finish(sink);
  has_entries_after_ = sink.size() > settled;
  return true;
}

Result<bool> LineScan::can_go_on(const LogSource& /*log*/, LogWindow& /*window*/, bool /*has_new_slot*/) {
  return !has_entries_after_;
}

Result<std::unique_ptr<LogIndex>> GrowingReader::index(const LogSource& log, const std::stop_token& stop) const {
  ASSIGN_OR_RETURN(const auto size, log.size());
  std::unique_ptr<GrowingState> state;
  auto scan = start_scan();
  for (bool is_read = false; !is_read;) {
    state = std::make_unique<GrowingState>(*this);
    state->has_hashes = hashes_entries();
    state->keeps_places = true;
    IndexSink sink(*state);
    ASSIGN_OR_RETURN(auto header, first_header(log));
    sink.set_header(std::move(header));
    ASSIGN_OR_RETURN(is_read, scan->read(log, size, sink, stop));
    if (!is_read) {
      scan = scan->restarted();
    }
  }
  LogWindow window(log, size, stop, kCheckStep);
  ASSIGN_OR_RETURN(state->fingerprint, GrowthFingerprint::of(window, scan->slot_end(), state->resume.offset));
  state->scan = std::move(scan);
  state->scanned_size = size;
  state->finish();
  return std::unique_ptr<LogIndex>(std::make_unique<GrowingIndex>(std::move(state)));
}

}  // namespace arborfs
