#include "core/session/session_name.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/base/words.h"
#include "core/entry/content.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text.h"
#include "core/log/log_reader.h"
#include "core/log/log_source.h"
#include "core/store/blob_store.h"

namespace arborfs {
namespace {

constexpr std::uint64_t kNear = 256 * 1024;
constexpr std::uint64_t kFar = std::uint64_t{64} << 20U;
constexpr std::uint64_t kWhole = std::uint64_t{4} << 20U;  // a log that may be in any order is read at once up to here
constexpr std::uint64_t kReads[] = {16 * 1024, kNear, kWhole, kFar};
constexpr std::size_t kBytesACharacter = 16;  // allows for combining characters

std::string on_one_line(std::string_view text, std::size_t columns) {
  return visible_line(stripped(stripped(text).substr(0, columns * kBytesACharacter)), columns);
}

class OpeningSearch {
 public:
  OpeningSearch(const Format& format, const LogSource& log) : format_(format), log_(log) {}

  /// Looks at the entries of the log's first bytes that were not looked at before. True if the search is over.
  bool look_in(std::uint64_t bytes, bool is_all) {
    const auto beginning = is_all ? Result<std::shared_ptr<const LogSource>>(nullptr) : log_.beginning(bytes);
    const LogSource& log = beginning && *beginning ? **beginning : log_;
    const auto index =
        beginning ? format_.reader->index(log, {}) : Result<std::unique_ptr<LogIndex>>(beginning.error());
    const auto size = log.size();
    if (!index || !size) {
      return true;
    }
    for (Ordinal entry = 1; entry <= (*index)->size(); ++entry) {
      if ((*index)->entry(entry).offset >= kNear && best_.by != Saying::By::nobody) {
        return true;
      }
      if ((*index)->entry(entry).offset >= looked_to_ && take(log, **index, entry)) {
        return true;
      }
    }
    looked_to_ = end_of_last(**index);
    const auto damage = (*index)->damage();
    const bool is_cut =  // inside of a record that begins near the start
        !damage.empty() && damage.back().offset < kNear && damage.back().offset + damage.back().length >= *size;
    return is_all || (bytes >= kNear && best_.by != Saying::By::nobody && !is_cut);
  }
  [[nodiscard]] const Saying& best() const { return best_; }

 private:
  bool take(const LogSource& log, const LogIndex& index, Ordinal entry) {
    const std::uint64_t length = index.length(entry);
    const auto raw = length > kMaxRenderedEntry ? Result<std::string>(Errc::too_large, "")
                                                : log.read(index.entry(entry).offset, length);
    if (!raw) {
      return false;
    }
    Saying said = format_.renderer->saying(
        {index.entry(entry).type, index.name(entry), *raw, index.entry(entry).timestamp_ms, *blobs_});
    if (said.by > best_.by) {
      best_ = std::move(said);
    }
    return best_.by == Saying::By::person;
  }
  static std::uint64_t end_of_last(const LogIndex& index) {
    const Ordinal last = index.size();
    return last == kNoEntry ? 0 : index.entry(last).offset + index.length(last);
  }

  const Format& format_;
  const LogSource& log_;
  const std::shared_ptr<const BlobSource> blobs_ = make_no_blobs();  // images say nothing
  Saying best_;
  std::uint64_t looked_to_ = 0;
};

}  // namespace

OpeningWords opening_words(const Format& format, const LogSource& log, std::size_t columns) {
  const auto size = log.rough_size();
  if (!size || *size == 0) {
    return {};
  }
  const bool is_in_order = format.reader->only_grow() || *size > kWhole;
  OpeningSearch search(format, log);
  for (const std::uint64_t bytes : kReads) {
    if (search.look_in(bytes, !is_in_order || bytes >= *size)) {
      break;
    }
  }
  return {on_one_line(search.best().text, columns), search.best().by == Saying::By::person};
}

OpeningWords opening_words(const Session& session, std::size_t columns) {
  const auto log = session.store().open(session.place());
  return log ? opening_words(session.format(), **log, columns) : OpeningWords();
}

std::string session_name(const Session& session, std::size_t columns) {
  if (std::string title = visible_line(session.title(), columns); !title.empty()) {
    return title;
  }
  const auto words = opening_words(session, columns);
  return words.text.empty() ? std::string(kNoConversation) : words.text;
}

}  // namespace arborfs
