#include "core/log/growing_index.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/base/result_macros.h"
#include "core/log/growth_fingerprint.h"
#include "core/log/index_sink.h"

namespace arborfs {

struct GrowingIndexState : IndexState {
  /// The state of a scan after the last complete line. The bytes after that line may read differently later.
  struct Settled {
    std::unique_ptr<LineScan> scan;
    std::uint64_t end = 0;  // of that line
    std::size_t damage = 0;
    RecordCounts not_shown;
    bool has_entries_after = false;
    GrowthFingerprint fingerprint;
  };

  explicit GrowingIndexState(const GrowingReader& its_reader) : reader(its_reader) {}
  const GrowingReader& reader;
  Settled settled;
};

namespace {

using Settled = GrowingIndexState::Settled;

constexpr std::size_t kCheckStep = 4096;

/// The end of the last complete line in the first `size` bytes of the log; `from` if no line ends after that.
Result<std::uint64_t> end_of_lines(const LogSource& log, std::uint64_t from, std::uint64_t size,
                                   const std::atomic<bool>* cancelled) {
  std::string step;
  for (std::uint64_t end = size; end > from;) {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
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

/// How much a sink has received.
struct Received {
  std::size_t entries = 0;
  std::size_t damage = 0;
  RecordCounts not_shown;
};

/// Reads the rest of the log with `scan`. `count` gives what the sink has received so far.
template <class Count>
Result<Settled> read_rest(std::unique_ptr<LineScan> scan, const LogSource& log, std::uint64_t lines_end,
                          std::uint64_t size, RecordSink& sink, const std::atomic<bool>* cancelled,
                          const Count& count) {
  Settled settled;
  RETURN_IF_ERROR(scan->read_to(log, lines_end, sink, cancelled));
  Received settling = count();
  settled.end = lines_end;
  settled.damage = settling.damage;
  settled.not_shown = std::move(settling.not_shown);
  if (lines_end == size) {
    scan->finish(sink);
  } else {
    const auto rest = scan->copy();
    RETURN_IF_ERROR(rest->read_to(log, size, sink, cancelled));
    rest->finish(sink);
    settled.has_entries_after = count().entries > settling.entries;
  }
  settled.scan = std::move(scan);
  return settled;
}

/// The part of a log after the indexed part.
struct LineGrowth : LogIndex::Growth {
  std::vector<RecordFields> records;  // their texts are in `texts`
  std::vector<std::uint64_t> hashes;
  std::deque<std::string> texts;
  std::vector<Damage> damage;
  RecordCounts not_shown;
  std::optional<Ordinal> leaf;
  Header header;
  Settled settled;
  std::uint64_t scanned_size = 0;
};

/// Collects new entries, and has access to the existing ones of the index.
class GrowthSink final : public RecordSink {
 public:
  GrowthSink(const GrowingIndexState& known, LineGrowth& growth) : known_(known), growth_(growth) {}

  /// True if the index cannot grow by the added entries.
  [[nodiscard]] bool has_conflict() const { return has_conflict_; }

  void set_header(Header header) override { growth_.header = std::move(header); }
  Result<void> add(const RecordFields& record, std::uint64_t hash) override {
    const Ordinal ordinal = size() + 1;
    if (ordinal > IndexState::kMostEntries) {
      return too_many_entries();
    }
    has_conflict_ = has_conflict_ || known_.ids.find(record.id) != 0;
    growth_.records.push_back(with_own_texts(record, growth_.texts));
    growth_.hashes.push_back(hash);
    fresh_.set_owner(fresh_.intern(record.id), ordinal);
    return {};
  }
  void add(const Damage& damage) override { growth_.damage.push_back(damage); }
  using RecordSink::leave_out;
  void leave_out(std::string_view type, std::uint64_t count) override { growth_.not_shown.add(type, count); }
  void set_leaf(Ordinal leaf) override { growth_.leaf = leaf; }
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
  static Ordinal owner(const IdTable& ids, std::string_view id) {
    const IdHandle handle = ids.find(id);
    return handle == 0 ? kNoEntry : ids.owner(handle);
  }
  [[nodiscard]] Ordinal size() const { return known_.entries.size() + static_cast<Ordinal>(growth_.records.size()); }
  [[nodiscard]] const RecordFields& record(Ordinal ordinal) const {
    return growth_.records[ordinal - known_.entries.size() - 1];
  }

  const GrowingIndexState& known_;
  LineGrowth& growth_;
  IdTable fresh_;  // ids of the new entries
  bool has_conflict_ = false;
};

/// True if the log still has the lines from which the index was made.
Result<bool> has_known_lines(const LogSource& log, std::uint64_t size, const GrowingIndexState& known) {
  if (known.settled.has_entries_after || size < known.settled.end) {
    return false;
  }
  ASSIGN_OR_RETURN(const bool can_grow, known.reader.can_grow(log));
  if (!can_grow) {
    return false;
  }
  LogWindow window(log, size, nullptr, kCheckStep);
  ASSIGN_OR_RETURN(const auto now, GrowthFingerprint::of(window, 0, known.settled.end));
  return now.has_same_bytes(known.settled.fingerprint);
}

}  // namespace

GrowingIndex::GrowingIndex(std::unique_ptr<GrowingIndexState> state) : LogIndex(std::move(state)) {}

const GrowingIndexState& GrowingIndex::own() const {
  return static_cast<const GrowingIndexState&>(state());
}

Result<std::unique_ptr<LogIndex>> GrowingIndex::build(const GrowingReader& reader, const LogSource& log,
                                                      const IndexOptions& options) {
  ASSIGN_OR_RETURN(const auto size, log.size());
  auto state = std::make_unique<GrowingIndexState>(reader);
  state->has_hashes = true;
  state->keeps_places = true;
  IndexSink sink(*state);
  ASSIGN_OR_RETURN(auto header, reader.read_header(log));
  sink.set_header(std::move(header));
  ASSIGN_OR_RETURN(const auto lines_end, end_of_lines(log, reader.growing_part(log), size, options.cancelled));
  const auto count = [&state] {
    return Received{state->entries.size(), state->losses.damage.size(), state->not_shown};
  };
  ASSIGN_OR_RETURN(state->settled,
                   read_rest(reader.start_scan(), log, lines_end, size, sink, options.cancelled, count));
  LogWindow window(log, size, options.cancelled, kCheckStep);
  ASSIGN_OR_RETURN(state->settled.fingerprint, GrowthFingerprint::of(window, 0, lines_end));
  state->scanned_size = size;
  state->finish();
  return std::unique_ptr<LogIndex>(new GrowingIndex(std::move(state)));
}

Result<LogIndex::GrowthPtr> GrowingIndex::read_growth(const LogSource& log) const {
  const GrowingIndexState& known = own();
  ASSIGN_OR_RETURN(const auto size, log.size());
  ASSIGN_OR_RETURN(const bool is_known, has_known_lines(log, size, known));
  if (!is_known) {
    return GrowthPtr();
  }
  auto growth = std::make_unique<LineGrowth>();
  GrowthSink sink(known, *growth);
  ASSIGN_OR_RETURN(growth->header, known.reader.grown_header(log, known.header, known.settled.end));
  ASSIGN_OR_RETURN(const auto lines_end, end_of_lines(log, known.settled.end, size, nullptr));
  const auto count = [&growth] { return Received{growth->records.size(), growth->damage.size(), growth->not_shown}; };
  ASSIGN_OR_RETURN(growth->settled, read_rest(known.settled.scan->copy(), log, lines_end, size, sink, nullptr, count));
  if (sink.has_conflict()) {
    return GrowthPtr();
  }
  LogWindow window(log, size, nullptr, kCheckStep);
  ASSIGN_OR_RETURN(growth->settled.fingerprint, known.settled.fingerprint.after_growth(window, 0, lines_end));
  growth->scanned_size = size;
  return GrowthPtr(std::move(growth));
}

std::vector<Entry> GrowingIndex::new_entries(const Growth& growth) const {
  std::vector<Entry> entries;
  for (const RecordFields& record : static_cast<const LineGrowth&>(growth).records) {
    Entry& entry = entries.emplace_back();
    entry.offset = record.offset;
    entry.length = record.length < kLongLength ? static_cast<std::uint32_t>(record.length) : kLongLength;
    entry.type = record.entry_type();
  }
  return entries;
}

void GrowingIndex::apply(GrowthPtr read) {
  auto& grown = static_cast<GrowingIndexState&>(state());
  auto& growth = static_cast<LineGrowth&>(*read);
  grown.losses.damage.resize(grown.settled.damage);
  grown.losses.damage.insert(grown.losses.damage.end(), growth.damage.begin(), growth.damage.end());
  grown.losses.malformed = grown.losses.damage.size();
  grown.not_shown = grown.settled.not_shown;
  grown.not_shown.add(growth.not_shown);
  const bool had_header = std::exchange(grown.header, std::move(growth.header)).valid;
  grown.values += (grown.header.valid ? 1 : 0) - (had_header ? 1 : 0);
  for (std::size_t i = 0; i < growth.records.size(); ++i) {
    grown.admit(growth.records[i]);
    grown.hashes.push_back(growth.hashes[i]);
  }
  grown.labels.settle();
  grown.leaf = growth.leaf;
  growth.settled.damage += grown.settled.damage;
  growth.settled.not_shown.add(grown.settled.not_shown);
  grown.settled = std::move(growth.settled);
  grown.scanned_size = growth.scanned_size;
}

Result<std::unique_ptr<LogIndex>> GrowingReader::index(const LogSource& log, const IndexOptions& options) const {
  return GrowingIndex::build(*this, log, options);
}

}  // namespace arborfs
