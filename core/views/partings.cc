#include "core/views/partings.h"

#include <algorithm>

#include "core/entry/people_path.h"

namespace arborfs {

std::vector<Parting> partings_of(const LogIndex& index, Ordinal end, const std::set<Ordinal>& on_path,
                                 const std::set<Ordinal>& on_page, std::size_t most) {
  std::vector<Parting> partings;
  auto ends = conversation_ends(index, end);
  std::reverse(ends.begin(), ends.end());
  for (const Ordinal other : ends) {
    if (on_path.contains(other) || partings.size() == most) {
      continue;
    }
    Parting parting{other};
    for (const Ordinal ordinal : people_entries(index, other)) {
      if (on_path.contains(ordinal)) {
        parting.after = on_page.contains(ordinal) ? ordinal : parting.after;
        parting.first = kNoEntry;
        parting.next.clear();
      } else if (parting.first == kNoEntry && is_talk(index, ordinal)) {
        parting.first = ordinal;
      } else if (parting.next.size() < Parting::kBeside && is_talk(index, ordinal)) {
        parting.next.push_back(ordinal);
      }
    }
    parting.first = parting.first == kNoEntry ? other : parting.first;
    partings.push_back(parting);
  }
  return partings;
}

}  // namespace arborfs
