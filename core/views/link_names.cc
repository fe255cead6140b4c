#include "core/views/link_names.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/threads.h"
#include "core/entry/names.h"
#include "core/json/date.h"
#include "core/session/session_name.h"

namespace arborfs {

namespace {

constexpr std::size_t kColumns = 80;  // of a first message; a slug has fewer

}  // namespace

/// What a person typed stays while the log only grows. Else the log is read again when it has changed.
std::optional<SessionSlugs::FirstWords> SessionSlugs::known(const Session& session, const FileStat& stat) const {
  const std::lock_guard lock(mutex_);
  const auto found = read_.find(session.number());
  if (found == read_.end()) {
    return std::nullopt;
  }
  const FirstWords& words = found->second;
  const bool is_valid =
      words.is_final ? words.stat.same_file(stat) && words.stat.size <= stat.size : words.stat == stat;
  return is_valid ? std::optional(words) : std::nullopt;
}

bool SessionSlugs::needs_log(const Session& session) const {
  const auto head = session.head();
  return head.header.title.empty() && head.problem.empty() && !known(session, head.stat);
}

Result<void> SessionSlugs::read(const std::vector<SessionPtr>& sessions) {
  std::vector<SessionPtr> unknown;
  for (const auto& session : sessions) {
    if (needs_log(*session)) {
      unknown.push_back(session);
    }
  }
  parallel_for(unknown.size(), [&](std::size_t at) {
    if (Cancellation::is_requested()) {
      return;
    }
    const FileStat stat = unknown[at]->stat();
    const OpeningWords opening = opening_words(*unknown[at], kColumns);
    if (Cancellation::is_requested()) {
      return;  // part of the log may not have been read
    }
    const std::string_view shown = opening.text.empty() ? kNoConversation : std::string_view(opening.text);
    FirstWords words{stat, names::slug(shown), opening.is_final};
    const std::lock_guard lock(mutex_);
    read_[unknown[at]->number()] = std::move(words);
  });
  return Cancellation::is_requested() ? Result<void>(Errc::interrupted, "the reader is gone") : Result<void>();
}

std::string SessionSlugs::of(const Session& session) const {
  const auto head = session.head();
  if (!head.header.title.empty()) {
    return names::slug(head.header.title);
  }
  const auto words = known(session, head.stat);
  return words ? words->slug : names::slug(kNoConversation);
}

void SessionSlugs::keep_only(const CatalogView& view) {
  const std::lock_guard lock(mutex_);
  if (view.version > kept_version_) {
    kept_version_ = view.version;
    std::erase_if(read_, [&](const auto& row) { return !view.where.contains(row.first); });
  }
}

namespace {

constexpr std::int64_t kLastMs = 253'402'214'400'000;  // in the year 9999, whatever the time zone
constexpr std::string_view kUndated = "undated";

/// When the session was created, as its agent recorded it.
std::optional<std::int64_t> creation_of(const Session& session) {
  const auto time = json::parse_date(session.head().header.timestamp);
  return time && *time >= 0 && *time <= kLastMs ? time : std::nullopt;
}

std::string hash_of_id(const Session& session) {
  std::array<char, 12> digits{};
  const std::string id = session.identity().id;
  const auto hash = static_cast<std::uint32_t>(xxh64(id.empty() ? session.stem() : id));
  std::snprintf(digits.data(), digits.size(), "~%08x", hash);
  return digits.data();
}

/// True if the view shows the session in this folder of links.
bool is_shown(const CatalogView& view, std::uint32_t folder, std::uint32_t session) {
  const auto found = view.where.find(session);
  return found != view.where.end() && found->second.starter == 0 &&
         (folder == LinkNames::kOfAll || found->second.project->number == folder);
}

}  // namespace

/// The name that a session would have if no other had it, and what its place among those with equal names depends on.
struct LinkNames::Wish {
  std::uint32_t session = 0;
  std::int64_t created_ms = 0;
  std::string name;
  std::string suffix;
  [[nodiscard]] auto order() const { return std::tie(created_ms, suffix, session); }
};

LinkNames::Wish LinkNames::wish_of(const SessionPtr& session) const {
  const auto created = creation_of(*session);
  const bool is_day = style_ == Style::day;
  Wish wish{session->number(), created.value_or(INT64_MAX), std::string(kUndated), hash_of_id(*session)};
  if (created) {
    wish.name = local_time(*created, is_day ? "%Y-%m-%d" : "%Y-%m-%dT%H-%M");
  }
  wish.name += (is_day ? " " : "-") + slugs_.of(*session);
  return wish;
}

/// Drops all names of the session.
void LinkNames::forget(Folder& folder, std::uint32_t session) {
  const auto found = folder.names.find(session);
  for (const std::string_view name : found->second.given) {
    folder.sessions.erase(folder.sessions.find(name));
  }
  folder.names.erase(found);
}

/// Gives the session the name that it wishes, or one that it or nobody has and that begins with it.
const std::string& LinkNames::give(Folder& folder, const Wish& wish) {
  Names& names = folder.names[wish.session];
  const std::uint64_t wanted = xxh64(wish.name);
  if (!names.given.empty() && names.wanted == wanted) {
    return folder.sessions.find(names.given.back())->first;
  }
  std::string name = wish.name;
  auto [place, is_new] = folder.sessions.try_emplace(name, wish.session);
  for (int number = 1; !is_new && place->second != wish.session; ++number) {
    name = wish.name + wish.suffix + (number == 1 ? "" : "~" + std::to_string(number));
    std::tie(place, is_new) = folder.sessions.try_emplace(name, wish.session);
  }
  std::erase(names.given, std::string_view(place->first));
  names.given.push_back(place->first);
  names.wanted = wanted;
  if (names.given.size() > kMostNames) {
    folder.sessions.erase(folder.sessions.find(names.given.front()));
    names.given.erase(names.given.begin());
  }
  return place->first;
}

/// Drops the names of sessions that the view does not show in their folders.
void LinkNames::keep_only(const CatalogView& view) {
  if (view.version <= kept_version_) {
    return;
  }
  kept_version_ = view.version;
  for (auto& [number, folder] : folders_) {
    std::vector<std::uint32_t> gone;
    for (const auto& [session, names] : folder.names) {
      if (!is_shown(view, number, session)) {
        gone.push_back(session);
      }
    }
    for (const std::uint32_t session : gone) {
      forget(folder, session);
    }
  }
  std::erase_if(folders_, [](const auto& row) { return row.second.names.empty(); });
}

std::vector<NamedSession> LinkNames::name(std::uint32_t folder, const CatalogView& view,
                                          const std::vector<SessionPtr>& sessions) {
  std::vector<Wish> wishes;
  wishes.reserve(sessions.size());
  for (const auto& session : sessions) {
    wishes.push_back(wish_of(session));
  }
  std::vector<std::size_t> oldest_first(wishes.size());
  std::iota(oldest_first.begin(), oldest_first.end(), std::size_t{0});
  std::sort(oldest_first.begin(), oldest_first.end(),
            [&](std::size_t a, std::size_t b) { return wishes[a].order() < wishes[b].order(); });
  std::vector<NamedSession> named(wishes.size());
  slugs_.keep_only(view);
  const std::lock_guard lock(mutex_);
  keep_only(view);
  for (const std::size_t at : oldest_first) {
    named[at] = {give(folders_[folder], wishes[at]), sessions[at]};
  }
  return named;
}

SessionPtr LinkNames::find(std::uint32_t folder, const CatalogView& view, std::string_view name) const {
  std::uint32_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto here = folders_.find(folder);
    if (here == folders_.end()) {
      return nullptr;
    }
    const auto found = here->second.sessions.find(name);
    number = found == here->second.sessions.end() ? 0 : found->second;
  }
  return number != 0 && is_shown(view, folder, number) ? view.session(number) : nullptr;
}

}  // namespace arborfs
