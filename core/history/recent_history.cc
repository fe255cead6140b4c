#include "core/history/recent_history.h"

#include <algorithm>
#include <utility>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/base/wanted.h"

namespace arborfs::history {

namespace {

using Clock = std::chrono::steady_clock;
using States = std::vector<std::optional<PromptHistory::State>>;

States states_of(const StoreSet& stores) {
  States states;
  for (const auto& store : stores) {
    if (const PromptHistory* history = store->prompt_history()) {
      const auto state = history->state();
      states.push_back(state ? std::optional(*state) : std::nullopt);
    }
  }
  return states;
}

std::optional<std::int64_t> newest(const States& states) {
  std::optional<std::int64_t> time;
  for (const auto& state : states) {
    time = state ? std::optional(std::max(state->mtime_ns, time.value_or(state->mtime_ns))) : time;
  }
  return time;
}

bool are_settled(const States& states) {
  const std::int64_t settled_ns = std::chrono::nanoseconds(RecentHistory::kSettles).count();
  return newest(states).value_or(0) < now_ns() - settled_ns;
}

}  // namespace

const ShownDay* ShownDays::find(std::uint32_t number) const {
  const auto found =
      std::find_if(days.begin(), days.end(), [&](const ShownDay& shown) { return shown.day.number == number; });
  return found == days.end() ? nullptr : &*found;
}

ShownDaysPtr RecentHistory::known() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

ShownDaysPtr RecentHistory::fresh(const StoreSet& stores) const {
  auto made = known();
  const bool may_serve = made && (made->is_settled || Clock::now() - made->begun < kBriefly);
  return may_serve && made->states == states_of(stores) ? made : nullptr;
}

Result<ShownDaysPtr> RecentHistory::read(const StoreSet& stores, const std::atomic<bool>* cancelled) {
  const auto asked = Clock::now();
  const SingleFlight::Turn turn(readings_, 0, Wanted::here(), cancelled);
  if (!turn.has()) {
    return Error{Errc::interrupted, "the reading of the history was cancelled"};
  }
  if (auto made = known(); made && made->begun >= asked) {
    return made;
  }
  return run(stores);
}

Result<ShownDaysPtr> RecentHistory::run(const StoreSet& stores) {
  ShownDays made;
  made.begun = Clock::now();
  made.states = states_of(stores);
  made.is_settled = are_settled(made.states);
  ASSIGN_OR_RETURN(auto days, prompt_days(stores));
  return keep(std::move(made), std::move(days));
}

ShownDaysPtr RecentHistory::keep(ShownDays made, std::vector<Day> days) {
  const std::lock_guard lock(mutex_);
  std::map<std::uint32_t, ShownDay> before;
  for (const ShownDay& shown : last_ ? last_->days : std::vector<ShownDay>()) {
    before[shown.day.number] = shown;
  }
  for (const Day& day : days) {
    const auto same = before.find(day.number);
    const bool is_same = same != before.end() && same->second.day.hash == day.hash && same->second.day.size == day.size;
    made.days.push_back({day, is_same ? same->second.version : ++last_version_});
  }
  last_ = std::make_shared<const ShownDays>(std::move(made));
  return last_;
}

std::optional<std::int64_t> written_ns(const StoreSet& stores) {
  return newest(states_of(stores));
}

}  // namespace arborfs::history
