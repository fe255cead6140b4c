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
  const bool is_counted = measure.usage_key != 0 && !usage_keys.insert(measure.usage_key).second;
  if (measure.usage && !is_counted) {
    usage.add(*measure.usage);
  }
}

void TextSizes::apply(Delta delta) {
  text_sizes_.insert(text_sizes_.end(), delta.text_sizes.begin(), delta.text_sizes.end());
  images_.insert(images_.end(), std::make_move_iterator(delta.images.begin()),
                 std::make_move_iterator(delta.images.end()));
  usage_ = delta.usage;
  usage_keys_ = std::move(delta.usage_keys);
}

UsageTotals TextSizes::usage() const {
  UsageTotals totals = usage_;
  if (session_cost_) {
    Usage told = untold_usage();
    told.cost = *session_cost_;
    totals.add(told);
  }
  return totals;
}

}  // namespace arborfs
