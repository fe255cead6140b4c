#include "core/stats/recent_stats.h"

#include <utility>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/base/wanted.h"
#include "core/render/text.h"

namespace arborfs::stats {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSentenceCharacters = 8192;

using Texts = decltype(ShownStats::texts);

Result<Texts> texts_of(const Catalog& catalog, const Hanging& hanging, const std::atomic<bool>* cancelled) {
  auto counted = all_counted(*catalog.view());
  std::erase_if(counted, [&](const Counted& of) { return catalog.is_in(*of.session, hanging); });
  Options options;
  options.cancelled = cancelled;
  ASSIGN_OR_RETURN(const Stats found, gather(std::move(counted), options));
  Texts texts;
  for (std::size_t at = 0; at < kShown.size(); ++at) {
    texts.at(at) = tsv(found, kShown.at(at));
    for (const auto& [submount, sentence] : hanging.submounts) {
      texts.at(at) += "# Not counted: " + visible_line(sentence, kSentenceCharacters) + "\n";
    }
  }
  return texts;
}

bool is_fresh(const ShownStats& made, Catalog& catalog) {
  return Clock::now() - made.ended < RecentStats::kFresh && made.sequence == catalog.feed().last_sequence();
}

}  // namespace

ShownStatsPtr RecentStats::known() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

ShownStatsPtr RecentStats::fresh(Catalog& catalog) const {
  auto made = known();
  return made && is_fresh(*made, catalog) ? made : nullptr;
}

Result<ShownStatsPtr> RecentStats::sum_up(Catalog& catalog, const std::atomic<bool>* cancelled) {
  const auto asked = Clock::now();
  const SingleFlight::Turn turn(sums_, 0, Wanted::here(), cancelled);
  if (!turn.has()) {
    return Error{Errc::interrupted, "the sum was cancelled"};
  }
  if (auto made = known(); made && (made->begun >= asked || is_fresh(*made, catalog))) {
    return made;
  }
  return run(catalog, cancelled);
}

Result<ShownStatsPtr> RecentStats::run(Catalog& catalog, const std::atomic<bool>* cancelled) {
  ShownStats made;
  made.begun = Clock::now();
  made.sequence = catalog.feed().last_sequence();
  ASSIGN_OR_RETURN(made.texts,
                   catalog.beside_hanging<Texts>(cancelled, [&catalog](const auto& hanging, const auto* over) {
                     return texts_of(catalog, hanging, over);
                   }));
  made.ended = Clock::now();
  return keep(std::move(made));
}

ShownStatsPtr RecentStats::keep(ShownStats made) {
  const std::lock_guard lock(mutex_);
  const bool is_same = last_ && last_->texts == made.texts;
  made.version = is_same ? last_->version : ++last_version_;
  made.made_ns = is_same ? last_->made_ns : now_ns();
  last_ = std::make_shared<const ShownStats>(std::move(made));
  return last_;
}

}  // namespace arborfs::stats
