#include "core/render/details.h"

#include "core/log/lines_ahead.h"
#include "core/render/measure.h"
#include "core/render/text.h"

namespace arborfs {
namespace {

/// Larger entries leave no buffers behind in their thread.
constexpr std::size_t kKeptEntry = std::size_t{64} << 10U;

struct NotedMeasure : RecordNotes {
  explicit NotedMeasure(Measure found) : measure(std::move(found)) {}
  Measure measure;
};

Result<Measure> measure_in(const LogFile& log, const Entry& entry, std::uint64_t length) {
  if (length > kMaxRenderedEntry) {
    return Measure{too_long_size(length), {}, {}};
  }
  auto raw = log.read(entry.offset, length);
  if (!raw) {
    return raw.error();
  }
  raw->append(Measurer::kPadding, '\0');
  return Measurer().measure(entry.type, std::string_view(*raw).substr(0, length));
}

/// Adds what was noted of an entry, or else what is read of it now.
Result<void> add(LogDetails::Delta& delta, const LogFile& log, const Entry& entry, std::uint64_t length,
                 const RecordNotes* notes) {
  if (notes != nullptr) {
    delta.add(entry.type, static_cast<const NotedMeasure*>(notes)->measure);
    return {};
  }
  const auto measured = measure_in(log, entry, length);
  if (!measured) {
    return measured.error();
  }
  delta.add(entry.type, *measured);
  return {};
}

/// Behind the line feed that ends the last entry's line, as a rule.
std::uint64_t end_of(const std::vector<Entry>& entries) {
  return entries.empty() ? 0 : entries.back().offset + entries.back().length + 1;
}

}  // namespace

Result<LogDetails::Delta> LogDetails::read(const LogFile& log, Ordinal first, const std::vector<Entry>& entries,
                                           const std::atomic<bool>* cancelled) const {
  Delta delta;
  delta.first = first;
  delta.usage = usage_;
  delta.text_sizes.reserve(entries.size());
  const DetailsNoter noter(log);
  LinesAhead lines(log, entries.empty() ? 0 : entries.front().offset, end_of(entries), cancelled, &noter);
  for (const Entry& entry : entries) {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
      return Error{Errc::interrupted, "read entries: given up"};
    }
    const LinesAhead::Line* const line = lines.line_at(entry.offset);
    const bool is_noted =
        line != nullptr && line->record.length == entry.length && line->record.entry_type() == entry.type;
    if (auto added = add(delta, log, entry, entry.length, is_noted ? line->notes.get() : nullptr); !added) {
      return added.error();
    }
  }
  return delta;
}

void LogDetails::Delta::add(EntryType type, const Measure& measure) {
  text_sizes.push_back(static_cast<std::uint32_t>(measure.size));
  for (const ImageRef& image : measure.images) {
    images.push_back(image);
    images.back().ordinal = first + static_cast<Ordinal>(text_sizes.size()) - 1;
  }
  if (measure.usage) {
    usage.add(type, *measure.usage);
  }
}

std::unique_ptr<RecordNotes> DetailsNoter::read(EntryType type, std::string_view text,
                                                const json::Places& places) const {
  thread_local Measurer measurer;
  auto found = measurer.measure(type, text, places);
  if (text.size() > kKeptEntry) {
    measurer = Measurer();
  }
  return found ? std::make_unique<NotedMeasure>(*std::move(found)) : nullptr;
}

Result<void> DetailsNoter::take(const Entry& entry, std::uint64_t length, Flavour flavour, const RecordNotes* notes) {
  delta_.usage.set_flavour(flavour);
  return add(delta_, log_, entry, length, notes);
}

LogDetails DetailsNoter::take_details(Flavour flavour) {
  delta_.usage.set_flavour(flavour);
  LogDetails details(flavour);
  details.apply(std::move(delta_));
  return details;
}

void LogDetails::apply(Delta delta) {
  text_sizes_.insert(text_sizes_.end(), delta.text_sizes.begin(), delta.text_sizes.end());
  images_.insert(images_.end(), std::make_move_iterator(delta.images.begin()),
                 std::make_move_iterator(delta.images.end()));
  usage_ = std::move(delta.usage);
}

}  // namespace arborfs
