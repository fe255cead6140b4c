#include <utility>

#include "core/json/date.h"
#include "core/render/text.h"
#include "core/render/views.h"

namespace arborfs {
namespace {

constexpr std::size_t kHeadingWord = 40;
constexpr std::size_t kHeadingId = 80;

/// 2026-02-16 10:20:30 UTC, or "" if JavaScript would not print the time.
std::string clock_time(std::int64_t milliseconds) {
  constexpr std::int64_t kLastDate = 8'640'000'000'000'000;
  if (milliseconds == Entry::kNoTime || milliseconds < -kLastDate || milliseconds > kLastDate) {
    return "";
  }
  std::string text = json::iso_time(milliseconds);
  const std::size_t middle = text.find('T');
  if (middle == std::string::npos) {
    return "";
  }
  text[middle] = ' ';
  return text.substr(0, text.find('.')) + " UTC";
}

std::string heading_of(const LogIndex& index, Ordinal ordinal) {
  std::string heading = "## " + visible_line(index.name(ordinal), kHeadingWord);
  const std::string time = clock_time(index.entry(ordinal).timestamp_ms);
  if (!time.empty()) {
    heading += " · " + time;
  }
  const EntryId id = index.id(ordinal);
  if (id.kind != EntryId::Kind::missing) {
    heading += " · " + visible_line(id.text, kHeadingId);
  }
  return heading + "\n\n";
}

}  // namespace

std::vector<TranscriptStep> transcript_steps(const LogIndex& index, const std::vector<Ordinal>& path,
                                             const std::vector<std::uint32_t>& text_sizes_of_path) {
  std::vector<TranscriptStep> steps;
  steps.reserve(path.size());
  for (std::size_t i = 0; i < path.size() && i < text_sizes_of_path.size(); ++i) {
    const Ordinal ordinal = path[i];
    steps.push_back(
        {ordinal, index.entry(ordinal), index.length(ordinal), text_sizes_of_path[i], heading_of(index, ordinal)});
  }
  return steps;
}

std::shared_ptr<const Content> build_transcript(std::vector<TranscriptStep> steps, std::shared_ptr<const LogSource> log,
                                                const RecordRenderer& renderer) {
  auto content = std::make_shared<Content>();
  for (const TranscriptStep& step : steps) {
    content->add_text(step.heading);
    content->add_rendered(step.text_size,
                          [log, &renderer, type = step.entry.type, offset = step.entry.offset, length = step.length] {
                            return read_text(renderer, *log, type, offset, length);
                          });
    content->add_text("\n");
  }
  return content;
}

}  // namespace arborfs
