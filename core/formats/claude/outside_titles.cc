#include "core/formats/claude/outside_titles.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/json/json_cursor.h"
#include "core/log/log_source.h"

namespace arborfs::claude {
namespace {

constexpr std::string_view kTitleFile = "custom-title.json";  // in the folder beside the transcript
constexpr std::uint64_t kSummariesEnd = 4 * 1024;             // of each end of a log that is searched for summaries
constexpr std::uint64_t kManyRows = 64 * 1024;                // of a log that begins with more summaries than that
constexpr std::uint64_t kSearched = std::uint64_t{64} << 20U;
constexpr std::uint64_t kRowsPiece = 1 << 20;
constexpr std::size_t kLongestId = 256;

class TitledLog final : public ForwardingLog {
 public:
  TitledLog(std::shared_ptr<const LogSource> log, std::string title)
      : ForwardingLog(*log), log_(std::move(log)), title_(std::move(title)) {}
  [[nodiscard]] std::optional<std::string_view> metadata() const override { return title_; }

 private:
  const std::shared_ptr<const LogSource> log_;
  const std::string title_;
};

std::string name_of_log(const LogPlace& place) {
  return place.folder + '/' + place.file;
}

bool is_untitled(const FoundLog& log) {
  return log.head && log.head->header.title.empty();
}

/// "" if it cannot be read.
std::string piece_of(const File& file, std::uint64_t offset, std::uint64_t length) {
  std::string bytes(static_cast<std::size_t>(length), '\0');
  const auto got = file.read_at(offset, bytes);
  bytes.resize(got ? *got : 0);
  return bytes;
}

std::string title_beside(const Dir& project, const LogPlace& place) {
  const auto folder = project.follow(std::string(place.stem()));
  const auto file = folder ? File::open_in(*folder, std::string(kTitleFile)) : Result<File>(folder.error());
  return file ? skim::string_value(skim::member(piece_of(*file, 0, kSummariesEnd), "customTitle")).value_or("") : "";
}

/// Titles, by the uuid of the row to which a summary leads.
using Summaries = std::unordered_map<std::string, std::string>;

void take_summary(std::string_view line, Summaries& summaries) {
  if (!skim::is_string(skim::member(line, "type"), "summary")) {
    return;
  }
  auto leaf = skim::string_value(skim::member(line, "leafUuid"));
  auto summary = skim::string_value(skim::member(line, "summary"));
  if (leaf && summary && !leaf->empty() && !summary->empty()) {
    summaries.insert_or_assign(*std::move(leaf), *std::move(summary));
  }
}

/// True if the text ends inside of a run of summaries.
bool take_summaries(std::string_view text, Summaries& summaries) {
  constexpr std::size_t kShortest = 16;  // `"summary"` is in the first characters of a row
  bool is_summary = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    is_summary = line.substr(0, 2 * kShortest).find("\"summary\"") != std::string_view::npos;
    if (is_summary && end != std::string_view::npos) {
      take_summary(line, summaries);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return is_summary;
}

Summaries summaries_in(const Dir& project, const std::vector<FoundLog>& found) {
  Summaries summaries;
  for (const FoundLog& log : found) {
    const auto file = File::follow_in(project, log.place.file);
    if (!file) {
      continue;
    }
    const std::uint64_t size = log.stat.size;
    const bool has_many = take_summaries(piece_of(*file, 0, std::min(size, kSummariesEnd)), summaries);
    if (has_many && size > kSummariesEnd) {
      take_summaries(piece_of(*file, 0, std::min(size, kManyRows)), summaries);
    }
    if (size > kSummariesEnd) {
      take_summaries(piece_of(*file, size - kSummariesEnd, kSummariesEnd) + '\n', summaries);
    }
  }
  return summaries;
}

/// Calls visit(uuid) for the uuids of the rows in a piece of a log.
template <class Visit>
void each_uuid(std::string_view text, const Visit& visit) {
  constexpr std::string_view kKey = "\"uuid\"";
  for (std::size_t at = text.find(kKey); at != std::string_view::npos; at = text.find(kKey, at)) {
    at += kKey.size();
    const std::size_t quote = text.find_first_not_of(" \t:", at);
    if (quote == std::string_view::npos || text[quote] != '"') {
      continue;
    }
    const std::size_t end = text.substr(0, quote + 1 + kLongestId).find('"', quote + 1);
    if (end != std::string_view::npos) {
      visit(text.substr(quote + 1, end - quote - 1));
    }
  }
}

/// The title of the summary that leads to the latest row of the log; "" if none does. Reads the log from its end, where
/// the row mostly is.
std::string title_of_rows(const Dir& project, const FoundLog& log, const Summaries& summaries) {
  constexpr std::uint64_t kOverlap = 2 * kLongestId;  // of pieces, so that each uuid is whole in one
  const auto file = File::follow_in(project, log.place.file);
  const std::uint64_t first = log.stat.size > kSearched ? log.stat.size - kSearched : 0;
  std::string title;
  for (std::uint64_t end = log.stat.size; file && title.empty() && end > first;) {
    const std::uint64_t begin = end - std::min(kRowsPiece, end - first);
    each_uuid(piece_of(*file, begin, std::min(end + kOverlap, log.stat.size) - begin), [&](std::string_view uuid) {
      if (const auto found = summaries.find(std::string(uuid)); found != summaries.end()) {
        title = found->second;
      }
    });
    end = begin;
  }
  return title;
}

}  // namespace

void OutsideTitles::find(const Dir& project, std::vector<FoundLog>& found) {
  if (std::none_of(found.begin(), found.end(), is_untitled)) {
    return;
  }
  const Summaries summaries = summaries_in(project, found);
  for (FoundLog& log : found) {
    if (!is_untitled(log)) {
      continue;
    }
    std::string title = title_beside(project, log.place);
    if (title.empty() && !summaries.empty()) {
      title = title_of_rows(project, log, summaries);
    }
    log.head->header.title = title;
    const std::lock_guard lock(mutex_);
    if (title.empty()) {
      titles_.erase(name_of_log(log.place));
    } else {
      titles_[name_of_log(log.place)] = std::move(title);
    }
  }
}

std::shared_ptr<const LogSource> OutsideTitles::with_title(const LogPlace& place,
                                                           std::shared_ptr<const LogSource> log) const {
  const std::lock_guard lock(mutex_);
  const auto found = titles_.find(name_of_log(place));
  return found == titles_.end() ? log : std::make_shared<const TitledLog>(std::move(log), found->second);
}

}  // namespace arborfs::claude
