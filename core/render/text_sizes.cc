#include "core/render/text_sizes.h"

#include "core/base/result_macros.h"
#include "core/log/parallel_line_reader.h"
#include "core/render/record_renderer.h"
#include "core/render/text.h"
#include "core/render/text_measurer.h"

namespace arborfs {
namespace {

/// A thread does not keep its buffers after a larger entry.
constexpr std::size_t kKeptEntry = std::size_t{64} << 10U;

struct NotedMeasure : ScanNotes {
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
    delta.add(entry.type, static_cast<const NotedMeasure*>(notes)->measure);
    return {};
  }
  ASSIGN_OR_RETURN(const auto measured, measure_in(log, entry, length));
  delta.add(entry.type, measured);
  return {};
}

/// The offset after the line feed that ends the last entry's line, as a rule.
std::uint64_t end_of(const std::vector<Entry>& entries) {
  return entries.empty() ? 0 : entries.back().offset + entries.back().length + 1;
}

}  // namespace

Result<TextSizes::Delta> TextSizes::read(const LogSource& log, Ordinal first, const std::vector<Entry>& entries,
                                         const std::atomic<bool>* cancelled) const {
  Delta delta;
  delta.first = first;
  delta.usage = usage_;
  delta.text_sizes.reserve(entries.size());
  const TextSizesObserver noter(log);
  ParallelLineReader lines(log, entries.empty() ? 0 : entries.front().offset, end_of(entries), cancelled, &noter);
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

Result<TextSizes::Delta> TextSizes::measure(const LogSource& log, const RecordRenderer& renderer, const LogIndex& index,
                                            const std::atomic<bool>* cancelled) {
  Delta delta;
  delta.usage.set_dialect(index.dialect());
  delta.text_sizes.reserve(index.size());
  std::string raw;
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
      return Error{Errc::interrupted, "reading entries was cancelled"};
    }
    const Entry& entry = index.entry(ordinal);
    if (index.length(ordinal) > kMaxRenderedEntry) {
      delta.add(entry.type, TextMeasure{too_long_size(index.length(ordinal)), {}, {}});
      continue;
    }
    ASSIGN_OR_RETURN(raw, log.read(entry.offset, entry.length));
    delta.add(entry.type, renderer.measure(entry.type, raw));
  }
  return delta;
}

void TextSizes::Delta::add(EntryType type, const TextMeasure& measure) {
  text_sizes.push_back(static_cast<std::uint32_t>(measure.size));
  for (const ImageRef& image : measure.images) {
    images.push_back(image);
    images.back().ordinal = first + static_cast<Ordinal>(text_sizes.size()) - 1;
  }
  if (measure.usage) {
    usage.add(type, *measure.usage);
  }
}

std::unique_ptr<ScanNotes> TextSizesObserver::read(EntryType type, std::string_view text,
                                                   const json::Places& places) const {
  thread_local TextMeasurer measurer;
  auto found = measurer.measure(type, text, places);
  if (text.size() > kKeptEntry) {
    measurer = TextMeasurer();
  }
  return found ? std::make_unique<NotedMeasure>(*std::move(found)) : nullptr;
}

Result<void> TextSizesObserver::take(const Entry& entry, std::uint64_t length, Dialect dialect,
                                     const ScanNotes* notes) {
  delta_.usage.set_dialect(dialect);
  return add(delta_, log_, entry, length, notes);
}

TextSizes TextSizesObserver::take_details(Dialect dialect) {
  delta_.usage.set_dialect(dialect);
  TextSizes details(dialect);
  details.apply(std::move(delta_));
  return details;
}

void TextSizes::apply(Delta delta) {
  text_sizes_.insert(text_sizes_.end(), delta.text_sizes.begin(), delta.text_sizes.end());
  images_.insert(images_.end(), std::make_move_iterator(delta.images.begin()),
                 std::make_move_iterator(delta.images.end()));
  usage_ = std::move(delta.usage);
}

}  // namespace arborfs
