#include <array>
#include <ctime>
#include <utility>

#include "core/render/names.h"
#include "core/render/text.h"
#include "core/render/views.h"

namespace arborfs {
namespace {

constexpr std::size_t kHeadingWord = 40;
constexpr std::size_t kHeadingId = 80;

/// 2026-02-16 10:20:30 +0100 in local time, or "" if JavaScript would not print the time.
std::string clock_time(std::int64_t milliseconds) {
  constexpr std::int64_t kLastDate = 8'640'000'000'000'000;
  if (milliseconds == Entry::kNoTime || milliseconds < -kLastDate || milliseconds > kLastDate) {
    return "";
  }
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0));
  std::tm parts{};
  std::array<char, 64> text{};
  if (::localtime_r(&seconds, &parts) == nullptr) {
    return "";
  }
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S %z", &parts)};
}

/// Words of a heading, in which nothing is markup.
std::string heading_words(std::string_view text, std::size_t columns) {
  constexpr std::string_view kMarkup = "\\`*{}[]()#+!|<>~$&@^=\"'";
  std::string words;
  char before = ' ';
  for (const char c : visible_line(text, columns)) {
    const bool is_pair = c == before && (c == '-' || c == '.' || c == '_');
    const bool is_edge = c == '_' && before == ' ';
    words.append(is_pair || is_edge || kMarkup.find(c) != std::string_view::npos ? "\\" : "").push_back(c);
    before = c;
  }
  return words;
}

std::string heading_of(const LogIndex& index, Ordinal ordinal) {
  std::string heading = "## " + heading_words(index.name(ordinal), kHeadingWord);
  const std::string time = clock_time(index.entry(ordinal).timestamp_ms);
  if (!time.empty()) {
    heading += " · " + time;
  }
  const EntryId id = index.id(ordinal);
  if (id.kind != EntryId::Kind::missing) {
    heading += " · " + heading_words(id.text, kHeadingId);
  }
  return heading + "\n\n";
}

/// The line about what lies between an entry and those above it; "" for nothing.
std::string break_line(const PeopleStep& step) {
  switch (step.before) {
    case PeopleStep::Break::compaction:
      return "*Compacted: of what is above, the agent sends the model only a summary and what it kept.*\n\n";
    case PeopleStep::Break::gap:
      break;
    case PeopleStep::Break::none:
      return "";
  }
  if (step.earlier == 0) {
    return "*The log does not have what came before this.*\n\n";
  }
  const std::string earlier =
      step.earlier == 1 ? "1 earlier entry is" : std::to_string(step.earlier) + " earlier entries are";
  return "*" + earlier + " not connected with what follows, and the agent does not send them.*\n\n";
}

}  // namespace

std::string image_link(const LogIndex& index, const ImageRef& image, std::string_view images) {
  constexpr std::string_view kPlain = "-._~";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string link = "![image " + std::to_string(image.number) + "](" + std::string(images);
  for (const char c : names::image_file(index, image)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                          kPlain.find(c) != std::string_view::npos;
    if (is_plain) {
      link += c;
    } else {
      link.append("%").append(1, kHex[byte >> 4U]).append(1, kHex[byte & 15U]);
    }
  }
  return link + ")\n\n";
}

std::vector<TranscriptStep> transcript_steps(const LogIndex& index, const std::vector<PeopleStep>& path,
                                             const TranscriptParts& parts) {
  std::vector<TranscriptStep> steps;
  steps.reserve(path.size());
  std::string breaks;
  for (const PeopleStep& step : path) {
    breaks += break_line(step);
    if (!parts.shows(index.name(step.ordinal))) {
      continue;
    }
    steps.push_back({step.ordinal, index.entry(step.ordinal), index.length(step.ordinal), parts.text_size(step.ordinal),
                     breaks + heading_of(index, step.ordinal),
                     parts.image_links ? parts.image_links(step.ordinal) : ""});
    breaks.clear();
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
    content->add_text("\n" + step.images);
  }
  return content;
}

}  // namespace arborfs
