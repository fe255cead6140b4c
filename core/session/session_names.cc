#include "core/session/session_names.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/entry/names.h"
#include "core/json/date.h"

namespace arborfs {

namespace {

constexpr std::int64_t kLastMs = 253'402'214'400'000;  // in the year 9999, whatever the time zone
constexpr std::string_view kUndated = "undated";

/// When a session was created, as its agent recorded it.
std::optional<std::int64_t> creation_of(const std::string& timestamp) {
  const auto time = json::parse_date(timestamp);
  return time && *time >= 0 && *time <= kLastMs ? time : std::nullopt;
}

std::string numbered(const std::string& name, std::size_t number) {
  return number < 2 ? name : name + "~" + std::to_string(number);
}

}  // namespace

/// The name that a session would have if no other had it, and what its place among those with equal names depends on.
struct SessionNames::Wish {
  std::uint32_t session = 0;
  std::optional<std::uint64_t> naming;
  std::size_t at = 0;  // in the list of sessions
  std::int64_t created_ms = INT64_MAX;
  std::string name;

  Wish(const Named& of, std::size_t place)
      : session(of.session->number()), naming(of.naming), at(place), name(of.log_name) {
    const auto parts = naming ? of.session->name_parts() : std::nullopt;
    if (!parts) {
      return;
    }
    const auto created = creation_of(parts->timestamp);
    created_ms = created.value_or(INT64_MAX);
    name = (created ? local_time(*created, "%Y-%m-%dT%H-%M") : std::string(kUndated)) + "-" + names::slug(parts->words);
  }
  [[nodiscard]] auto order() const { return std::tie(created_ms, at); }
};

bool SessionNames::is_of_another(const std::string& name, std::uint32_t session) const {
  const auto found = owners_.find(name);
  return found != owners_.end() && found->second.session != session;
}

/// The wished name, or one with a number before which the other numbers are usually taken. Searches by halving, since
/// thousands of sessions may wish one name.
std::string SessionNames::free_name(const Wish& wish) const {
  std::size_t taken = 0;
  std::size_t free = 1;
  while (is_of_another(numbered(wish.name, free), wish.session)) {
    taken = free;
    free *= 2;
  }
  while (free - taken > 1) {
    const std::size_t middle = taken + (free - taken) / 2;
    (is_of_another(numbered(wish.name, middle), wish.session) ? taken : free) = middle;
  }
  return numbered(wish.name, free);
}

/// The name leads to its session from now on without being its name.
void SessionNames::retire(const std::string& name) {
  owners_[name].former_since = ++clock_;
  former_.emplace_back(clock_, name);
  if (former_.size() > kMostFormer) {
    const auto oldest = owners_.find(former_.front().second);
    if (oldest != owners_.end() && oldest->second.former_since == former_.front().first) {
      owners_.erase(oldest);
    }
    former_.pop_front();
  }
}

void SessionNames::give(const Wish& wish) {
  Known& known = known_[wish.session];
  known.naming = wish.naming;
  const std::uint64_t wished = xxh64(wish.name);
  if (!known.name.empty() && known.wished == wished) {
    return;
  }
  std::string name = free_name(wish);
  if (!known.name.empty()) {
    retire(known.name);
  }
  owners_[name] = {wish.session, 0};
  known.wished = wished;
  known.name = std::move(name);
}

void SessionNames::forget_all_but(std::uint64_t round) {
  const std::size_t before = known_.size();
  std::erase_if(known_, [&](const auto& row) { return row.second.round != round; });
  if (known_.size() != before) {
    std::erase_if(owners_, [&](const auto& row) { return !known_.contains(row.second.session); });
  }
}

std::vector<std::string> SessionNames::name(const std::vector<Named>& all) {
  const std::lock_guard lock(mutex_);
  ++round_;
  std::vector<Wish> wishes;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const Named& one = all[at];
    const auto [known, is_new] = known_.try_emplace(one.session->number());
    known->second.round = round_;
    if (is_new || known->second.naming != one.naming) {
      wishes.emplace_back(one, at);
    }
  }
  forget_all_but(round_);
  std::sort(wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) { return a.order() < b.order(); });
  for (const Wish& wish : wishes) {
    give(wish);
  }
  std::vector<std::string> named;
  named.reserve(all.size());
  for (const Named& one : all) {
    named.push_back(known_.find(one.session->number())->second.name);
  }
  return named;
}

std::uint32_t SessionNames::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = owners_.find(name);
  return found == owners_.end() ? 0 : found->second.session;
}

}  // namespace arborfs
