#include "core/log/index_state.h"

#include <algorithm>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/log/entry_types.h"
#include "core/log/parallel_line_reader.h"
#include "core/log/record_reader.h"

namespace arborfs {

namespace {

constexpr std::uint64_t kHeadChecked = 4096;
constexpr std::uint64_t kTailChecked = 256;
constexpr Ordinal kMostEntries = 0x7FFFFFFE;  // IdTable stores ordinals in 31 bits
constexpr std::string_view kNoTypeName = "value";

Result<std::uint64_t> hash_range(LogWindow& window, std::uint64_t from, std::uint64_t to) {
  const auto size = static_cast<std::size_t>(to - from);
  if (size == 0) {
    return xxh64({});
  }
  ASSIGN_OR_RETURN(auto text, window.view(from, size));
  return xxh64(text.substr(0, size));
}

constexpr std::string_view kOfPi =
    "the log belongs to pi, and arborfs can only read pi's logs; continue the session with pi";

std::uint8_t root_word(const FieldValue& parent) {
  switch (parent.kind) {
    case FieldValue::Kind::null:
      return entry_flags::kParentNull;
    case FieldValue::Kind::string:
      return entry_flags::kParentEmpty;
    case FieldValue::Kind::number:
      return entry_flags::kParentZero;
    case FieldValue::Kind::boolean:
      return entry_flags::kParentFalse;
    default:
      return entry_flags::kParentMissing;
  }
}

/// Makes the index of what another agent's reader finds.
class IndexSink : public RecordSink {
 public:
  explicit IndexSink(IndexState& state) : state_(state) {}

  void set_header(Header header) override {
    state_.header = std::move(header);
    state_.values = state_.header.valid ? 1 : 0;
  }
  Result<void> add(const RecordFields& record, std::uint64_t hash) override {
    if (state_.entries.size() >= kMostEntries) {
      return Error{Errc::too_large, "the log has more entries than arborfs can number"};
    }
    state_.admit(record);
    state_.hashes.push_back(hash);
    return {};
  }
  void add(const Damage& damage) override {
    state_.losses.damage.push_back(damage);
    ++state_.losses.malformed;
  }
  void set_leaf(Ordinal leaf) override { state_.leaf = leaf; }

 private:
  IndexState& state_;
};

}  // namespace

Result<Fingerprint> take_fingerprint(LogWindow& window, std::uint64_t slot_end, std::uint64_t resume) {
  Fingerprint made;
  made.head_end = std::min(resume, slot_end + kHeadChecked);
  made.tail_from = std::max(slot_end, resume > kTailChecked ? resume - kTailChecked : 0);
  // Hash the tail first: the window still holds it.
  ASSIGN_OR_RETURN(made.tail, hash_range(window, made.tail_from, resume));
  ASSIGN_OR_RETURN(made.slot, hash_range(window, 0, slot_end));
  ASSIGN_OR_RETURN(made.head, hash_range(window, slot_end, made.head_end));
  return made;
}

Result<Fingerprint> fingerprint_of_growth(LogWindow& window, std::uint64_t slot_end, std::uint64_t resume,
                                          const Fingerprint& before) {
  Fingerprint made = before;
  if (before.head_end != slot_end + kHeadChecked) {
    ASSIGN_OR_RETURN(made, take_fingerprint(window, slot_end, resume));
    made.slot = before.slot;
    return made;
  }
  made.tail_from = std::max(slot_end, resume > kTailChecked ? resume - kTailChecked : 0);
  ASSIGN_OR_RETURN(made.tail, hash_range(window, made.tail_from, resume));
  return made;
}

bool IndexState::is_younger(const RecordFields& record) {
  const EntryType type = record.entry_type();
  return is_omp18_type(type) || (record.telltales != 0 && has_omp18_key(record.telltales, type));
}

Result<bool> IndexState::scan(const LogSource& log, LogWindow& window, ScanObserver* noter) {
  ASSIGN_OR_RETURN(auto found, read_head(window, forced));
  head = found;
  header = missing_header(head.slot.has_value());
  dialect = forced ? *forced : head.slot ? Dialect::omp18 : dialect;
  std::optional<ParallelLineReader> ahead;
  if (window.end() >= head.slot_end + ParallelLineReader::kHelpsFrom) {
    ahead.emplace(log, head.slot_end, window.end(), window.cancelled(), noter);
  }
  if (noter != nullptr) {
    noter->begin();
  }
  RecordScanner scanner(window, {head.slot_end, ScanPoint::Phase::line_start}, has_lenient_boms(log, window.end()),
                        ahead ? &*ahead : nullptr, noter);
  for (;;) {
    ASSIGN_OR_RETURN(auto record, scanner.next());
    if (record == nullptr) {
      break;
    }
    if (turns_omp18(*record)) {
      if (!dropped_sessions.empty()) {
        return false;
      }
      dialect = Dialect::omp18;
    }
    ASSIGN_OR_RETURN(const auto taken, take_first(window, *record));
    if (!taken && admit(*record) && noter != nullptr) {
      RETURN_IF_ERROR(note(*noter, *record, scanner.notes()));
    }
    if (entries.size() >= kMostEntries) {
      return Error{Errc::too_large, "the log has more entries than arborfs can number"};
    }
  }
  tail = scanner.tail();
  losses = scanner.take_losses();
  scanned_size = window.end();
  ASSIGN_OR_RETURN(auto made, take_fingerprint(window, head.slot_end, tail.resume.offset));
  fingerprint = made;
  finish();
  ASSIGN_OR_RETURN(auto name, last_name(window));
  settle_writer(std::move(name));
  return true;
}

Result<void> IndexState::read(const LogSource& log, std::uint64_t size, const RecordReader& reader,
                              const std::atomic<bool>* cancelled) {
  is_of_reader = true;
  header = missing_header(false);
  IndexSink sink(*this);
  RETURN_IF_ERROR(reader.read(log, sink, cancelled));
  scanned_size = size;
  finish();
  return {};
}

void IndexState::finish() {
  entries.shrink();
  hashes.shrink_to_fit();
  ids.shrink();
  labels.settle();
}

/// The name in the last session_info that was admitted; nothing if there is none.
Result<std::optional<std::string>> IndexState::last_name(LogWindow& window) const {
  if (last_named_ == kNoEntry) {
    return std::optional<std::string>();
  }
  return read_session_name(window, entries.at(last_named_).offset, entries.at(last_named_).length);
}

// True if the record is the log's first value and a valid header.
Result<bool> IndexState::take_first(LogWindow& window, const RecordFields& record) {
  if (values != 0) {
    return false;
  }
  ASSIGN_OR_RETURN(auto session, read_session_header(window, record.offset, record.length, head.slot));
  header = std::move(session.header);
  gives_ids = session.gives_ids;
  values = header.valid ? 1 : 0;
  return header.valid;
}

Result<void> IndexState::note(ScanObserver& noter, const RecordFields& record, const ScanNotes* notes) const {
  return noter.take(entries.at(entries.size()), record.length, dialect, notes);
}

bool IndexState::admit(const RecordFields& record) {
  if (drops(record)) {
    dropped_sessions.push_back(values++);
    return false;
  }
  ++values;
  const Ordinal ordinal = entries.size() + 1;
  Entry entry;
  entry.offset = record.offset;
  entry.length = static_cast<std::uint32_t>(std::min<std::uint64_t>(record.length, kLongLength));
  if (entry.length == kLongLength) {
    long_lengths.emplace(ordinal, record.length);
  }
  entry.type = record.entry_type();
  entry.timestamp_ms = to_timestamp(record.timestamp);
  marks_.note(record, entry.type);
  put_name(record, entry, ordinal);
  put_ids(record, entry);
  entries.push(entry);
  link(entry, ordinal);
  if (entry.type == EntryType::label) {
    labels.take(record, ordinal);
  } else if (names_session(record)) {
    last_named_ = ordinal;
  }
  return true;
}

void IndexState::Marks::note(const RecordFields& record, EntryType type) {
  if (type == EntryType::message) {
    of_pi = of_pi || record.role.is_string("system");
    return;
  }
  of_pi = of_pi || is_pi_type(type) || (record.telltales != 0 && has_pi_key(record.telltales, type));
  of_omp = of_omp || is_omp_type(type) || (record.telltales != 0 && has_omp_key(record.telltales, type));
}

// omp/FORMAT.md O2. If nothing else decides, the id does: omp gives UUIDs only with a slot (omp/FORMAT.md F2).
bool IndexState::is_of_pi(const Marks& marks) const {
  if (forced || !header.valid || head.slot || dialect == Dialect::omp18) {
    return false;
  }
  const bool has_own_title = !header.title.empty() && !header.is_named;
  return marks.of_pi || (is_uuid(header.id) && !marks.of_omp && !has_own_title);
}

bool IndexState::changes_writer(const std::vector<RecordFields>& records) const {
  Marks marks = marks_;
  for (const RecordFields& record : records) {
    marks.note(record, record.entry_type());
  }
  return is_of_pi(marks) != is_of_pi(marks_);
}

void IndexState::settle_writer(std::optional<std::string> name) {
  const bool is_pis = is_of_pi(marks_);
  header.of_pi = is_pis;
  if (is_pis && name) {
    set_name(header, *name);
  }
  if (is_pis && header.writable_version) {
    header.writable_version = false;
    header.problem = kOfPi;
  }
}

void IndexState::put_name(const RecordFields& record, Entry& entry, Ordinal ordinal) {
  std::string_view name = entry.type == EntryType::none ? kNoTypeName : record.type.text;
  if (entry.type == EntryType::message && record.role.kind == FieldValue::Kind::string && !record.role.text.empty()) {
    name = record.role.text;
    if (name == "assistant") {
      entry.flags |= entry_flags::kAssistant;
    }
  }
  entry.name = names.intern(name, ordinal);
}

void IndexState::put_ids(const RecordFields& record, Entry& entry) {
  if (!gives_ids || entry.type == EntryType::session) {
    entry.id = ids.intern(record.id);
    if (record.parent.is_truthy()) {
      entry.parent = ids.intern(record.parent);
    } else {
      entry.flags |= root_word(record.parent);
    }
    return;
  }
  ++made_ids;
  if (record.shape == RecordFields::Shape::scalar) {
    return;  // a scalar has no properties to set
  }
  entry.id = ids.intern_hex(made_ids);
  entry.parent = last_made;
  if (last_made == 0) {
    entry.flags |= entry_flags::kParentNull;
  }
  last_made = entry.id;
}

// Updates the count of entries without children. If several entries have the same id, the last one has the children.
void IndexState::link(const Entry& entry, Ordinal ordinal) {
  ++tips;
  if (entry.id == 0) {
    last_without_id = ordinal;
  } else {
    const bool is_duplicate = ids.owner(entry.id) != kNoEntry;
    has_duplicates = has_duplicates || is_duplicate;
    if (ids.is_parent(entry.id) && !is_duplicate) {
      --tips;
    }
    ids.set_owner(entry.id, ordinal);
  }
  if (entry.parent != 0 && entry.parent != entry.id && !ids.is_parent(entry.parent)) {
    ids.set_parent(entry.parent);
    if (ids.owner(entry.parent) != kNoEntry) {
      --tips;
    }
  }
}

}  // namespace arborfs
