#include "core/views/shown_damage.h"

namespace arborfs {

std::vector<Damage> shown_damage(const Session::Guard& guard) {
  auto damage = guard.index().damage();
  std::erase_if(damage, [](const Damage& run) { return run.kind == Damage::Kind::repetition; });
  if (damage.empty() || !damage.back().in_progress) {
    return damage;
  }
  if (guard.tail_aged()) {
    damage.back().in_progress = false;
  } else {
    damage.pop_back();
  }
  return damage;
}

}  // namespace arborfs
