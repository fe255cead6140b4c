#include "core/views/tree_view.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/cancellation.h"
#include "core/base/result_macros.h"
#include "core/model/tree_reader.h"
#include "core/render/record_renderer.h"
#include "core/render/tree_drawing.h"

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

Result<std::vector<std::string>> collect_words(const RecordRenderer& renderer, const LogSource& log,
                                               const std::vector<Place>& places) {
  std::vector<std::string> words;
  words.reserve(places.size());
  for (const auto& place : places) {
    if (place.length > kMaxWordedEntry) {
      words.emplace_back("(" + std::to_string(place.length) + " bytes)");
      continue;
    }
    ASSIGN_OR_RETURN(auto raw, log.read(place.entry.offset, place.length));
    words.push_back(renderer.first_words(place.entry.type, raw, kWordColumns));
  }
  return words;
}

/// Draws a tree from one state of a session. Within one generation an index does not change its entries, so each step
/// may take a guard of its own.
class Making {
 public:
  explicit Making(const Session::Guard& guard)
      : generation_(guard.generation_of(Session::Guard::kLastEntry)),
        log_(guard.log()),
        reader_(guard.index()),
        drawing_(guard.index(), guard.leaf()),
        size_(guard.index().size()) {}

  Result<std::shared_ptr<const Content>> finish(const Session& session) {
    std::vector<Place> places;
    auto done = in_steps(session, [&](const LogIndex& index) {
      add_places(index, places);
      return reader_.read(index, kStep);
    });
    auto words = done ? collect_words(*session.format().renderer, *log_, places)
                      : Result<std::vector<std::string>>(done.error());
    if (!words) {
      return words.error();
    }
    drawing_.set_tree(reader_.take());
    const CollectedWords text(std::move(*words));
    const auto content = std::make_shared<Content>();
    done = in_steps(session, [&](const LogIndex& index) {
      std::string lines;
      const bool has_more = drawing_.draw(index, text, kStep, lines);
      content->add_text(lines);
      return has_more;
    });
    return done ? Result<std::shared_ptr<const Content>>(content) : done.error();
  }

 private:
  static constexpr Ordinal kStep = 4096;

  /// `step` returns false when it is finished.
  template <class Step>
  Result<void> in_steps(const Session& session, Step step) {
    for (bool has_more = true; has_more;) {
      const auto guard = session.read();
      if (!guard || guard->generation_of(Session::Guard::kLastEntry) != generation_) {
        return Error{Errc::stale, "the session changed while its tree was drawn; try again"};
      }
      has_more = step(guard->index());
      if (const auto* cancelled = Cancellation::current(); has_more && cancelled != nullptr && *cancelled) {
        return Error{Errc::interrupted, "the mount is being unmounted"};
      }
    }
    return {};
  }
  void add_places(const LogIndex& index, std::vector<Place>& places) const {
    const Ordinal end = size_ > kMaxWorded ? 0 : std::min<Ordinal>(size_, static_cast<Ordinal>(places.size()) + kStep);
    for (auto ordinal = static_cast<Ordinal>(places.size()) + 1; ordinal <= end; ++ordinal) {
      places.push_back({index.entry(ordinal), index.length(ordinal)});
    }
  }

  const std::uint32_t generation_;
  const std::shared_ptr<const LogSource> log_;
  TreeReader reader_;
  TreeDrawing drawing_;
  const Ordinal size_;
};

}  // namespace

Result<std::shared_ptr<const Content>> tree_document(const Session& session) {
  Result<std::shared_ptr<const Content>> made =
      Error{Errc::stale, "the session changed while its tree was drawn; try again"};
  for (int attempt = 0; attempt < kAttempts && !made && made.error().code == Errc::stale; ++attempt) {
    std::optional<Making> making;
    if (const auto guard = session.read()) {
      making.emplace(*guard);
    }
    if (!making) {
      break;
    }
    made = making->finish(session);
  }
  return made;
}

}  // namespace arborfs
