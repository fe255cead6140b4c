#include "core/formats/omp/render/entry_measurer.h"

#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/omp/log/parallel_line_reader.h"
#include "core/formats/omp/render/text_measurer.h"
#include "core/render/text.h"

namespace arborfs {
namespace {

/// A thread does not keep its buffers after a larger entry.
constexpr std::size_t kKeptEntry = std::size_t{64} << 10U;

struct NotedMeasure final : ScanNotes {
  explicit NotedMeasure(TextMeasure found) : measure(std::move(found)) {}
  TextMeasure measure;
};

Result<TextMeasure> measure_in(const LogSource& log, const Entry& entry, std::uint64_t length) {
  if (length > kMaxRenderedEntry) {
    return TextMeasure{too_long_size(length), {}, {}};
  }
  ASSIGN_OR_RETURN(auto raw, log.read(entry.offset, length));
  raw.append(TextMeasurer::kPadding, '\0');
  return TextMeasurer().measure(entry.type, std::string_view(raw).substr(0, length));
}

/// Adds the notes on an entry, or else measures it now.
Result<void> add(TextSizes::Delta& delta, const LogSource& log, const Entry& entry, std::uint64_t length,
                 const ScanNotes* notes) {
  if (notes != nullptr) {
    delta.add(static_cast<const NotedMeasure*>(notes)->measure);
    return {};
  }
  ASSIGN_OR_RETURN(const auto measured, measure_in(log, entry, length));
  delta.add(measured);
  return {};
}

/// The offset after the line feed that ends the last entry's line, as a rule.
std::uint64_t end_of(const std::vector<Entry>& entries) {
  return entries.empty() ? 0 : entries.back().offset + entries.back().length + 1;
}

class EntryObserver final : public TextSizesObserver {
 public:
  explicit EntryObserver(const LogSource& log) : log_(log) {}

  [[nodiscard]] std::unique_ptr<ScanNotes> read(EntryType type, std::string_view text,
                                                const json::Places& places) const override {
    thread_local TextMeasurer measurer;
    auto found = measurer.measure(type, text, places);
    if (text.size() > kKeptEntry) {
      measurer = TextMeasurer();
    }
    return found ? std::make_unique<NotedMeasure>(*std::move(found)) : nullptr;
  }
  void begin() override { delta_ = {}; }
  Result<void> take(const Entry& entry, std::uint64_t length, const ScanNotes* notes) override {
    return add(delta_, log_, entry, length, notes);
  }
  [[nodiscard]] TextSizes take_sizes() override {
    TextSizes sizes;
    sizes.apply(std::move(delta_));
    return sizes;
  }

 private:
  const LogSource& log_;
  TextSizes::Delta delta_;
};

}  // namespace

std::unique_ptr<TextSizesObserver> observe_entries(const LogSource& log) {
  return std::make_unique<EntryObserver>(log);
}

Result<TextSizes::Delta> measure_entries(const LogSource& log, TextSizes::Delta delta,
                                         const std::vector<Entry>& entries, const std::atomic<bool>* cancelled) {
  delta.text_sizes.reserve(entries.size());
  const EntryObserver observer(log);
  ParallelLineReader lines(log, entries.empty() ? 0 : entries.front().offset, end_of(entries), cancelled, &observer);
  for (const Entry& entry : entries) {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
      return Error{Errc::interrupted, "reading entries was cancelled"};
    }
    const ParallelLineReader::Line* const line = lines.line_at(entry.offset);
    const bool is_noted =
        line != nullptr && line->record.length == entry.length && line->record.entry_type() == entry.type;
    RETURN_IF_ERROR(add(delta, log, entry, entry.length, is_noted ? line->notes.get() : nullptr));
  }
  return delta;
}

}  // namespace arborfs
