#include "core/session/tree_document.h"

#include <vector>

#include "core/render/text.h"
#include "core/render/views.h"

namespace arborfs {

namespace {

constexpr std::size_t kWordColumns = 60;
constexpr std::uint64_t kMaxWordedEntry = 4 << 20;
constexpr int kAttempts = 3;

class CollectedWords : public TreeText {
 public:
  explicit CollectedWords(std::vector<std::string> words) : words_(std::move(words)) {}
  [[nodiscard]] std::string first_words(Ordinal ordinal) const override {
    return ordinal <= words_.size() ? words_[ordinal - 1] : std::string();
  }

 private:
  std::vector<std::string> words_;
};

struct Place {
  Entry entry;
  std::uint64_t length = 0;
};

Result<std::vector<std::string>> collect_words(const LogFile& log, const std::vector<Place>& places) {
  std::vector<std::string> words;
  words.reserve(places.size());
  for (const auto& place : places) {
    if (place.length > kMaxWordedEntry) {
      words.emplace_back("(" + std::to_string(place.length) + " bytes)");
      continue;
    }
    auto raw = log.read(place.entry.offset, place.length);
    if (!raw) {
      return raw.error();
    }
    words.push_back(first_words(place.entry.type, *raw, kWordColumns));
  }
  return words;
}

}  // namespace

Result<std::string> tree_document(const Session& session) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::vector<Place> places;
    std::shared_ptr<const LogFile> log;
    std::uint32_t epoch = 0;
    {
      const auto guard = session.read();
      if (!guard) {
        break;
      }
      epoch = guard->epoch();
      log = guard->log();
      const auto& index = guard->index();
      for (Ordinal ordinal = 1; ordinal <= index.size() && index.size() <= kMaxWorded; ++ordinal) {
        places.push_back({index.entry(ordinal), index.length(ordinal)});
      }
    }
    auto words = collect_words(*log, places);
    if (!words) {
      return words.error();
    }
    const auto guard = session.read();
    if (guard && guard->epoch() == epoch) {
      return draw_tree(guard->index(), guard->leaf(), CollectedWords(std::move(words).value()));
    }
  }
  return Error{Errc::stale, "the session changed while its tree was drawn"};
}

}  // namespace arborfs
