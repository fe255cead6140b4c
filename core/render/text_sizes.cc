#include "core/render/text_sizes.h"

#include <iterator>
#include <utility>

namespace arborfs {

void TextSizes::Delta::add(const TextMeasure& measure) {
  text_sizes.push_back(static_cast<std::uint32_t>(measure.size));
  for (const ImageRef& image : measure.images) {
    images.push_back(image);
    images.back().ordinal = first + static_cast<Ordinal>(text_sizes.size()) - 1;
  }
  if (measure.usage && measure.usage->request == 0) {
    usage.add(measure.usage->usage);
  } else if (measure.usage) {
    reports.push_back(*measure.usage);
  }
}

void TextSizes::apply(Delta delta) {
  text_sizes_.insert(text_sizes_.end(), delta.text_sizes.begin(), delta.text_sizes.end());
  images_.insert(images_.end(), std::make_move_iterator(delta.images.begin()),
                 std::make_move_iterator(delta.images.end()));
  usage_.set_settled(delta.usage);
  for (const UsageReport& report : delta.reports) {
    usage_.add(report);
  }
}

UsageTotals TextSizes::usage() const {
  UsageTotals totals = usage_.totals();
  if (session_cost_) {
    totals.set_whole_cost(*session_cost_);
  }
  return totals;
}

}  // namespace arborfs
