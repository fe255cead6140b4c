// Finds the latest sessions, and the session that a user names.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/render/names.h"
#include "core/session/catalog.h"

namespace arborfs {

namespace {

/// True if the word is a path and not an id.
bool looks_like_path(const std::string& word) {
  std::error_code failed;
  return word.empty() || word.find('/') != std::string::npos || word.ends_with(".jsonl") ||
         std::filesystem::exists(word, failed);
}

}  // namespace

std::vector<NamedSession> Catalog::recent(std::size_t limit) const {
  struct Row {
    std::int64_t mtime;
    std::uint32_t number;
    SessionPtr session;
  };
  std::vector<Row> rows;
  for (auto& session : all_sessions()) {
    rows.push_back({session->mtime_ns(), session->number(), session});
  }
  const std::size_t count = std::min(limit, rows.size());
  std::partial_sort(
      rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end(),
      [](const Row& a, const Row& b) { return a.mtime != b.mtime ? a.mtime > b.mtime : a.number < b.number; });
  std::vector<NamedSession> named;
  for (std::size_t i = 0; i < count; ++i) {
    char prefix[24];
    std::snprintf(prefix, sizeof prefix, "%02zu-", i + 1);
    named.push_back({prefix + names::slug(rows[i].session->head().header.title), rows[i].session});
  }
  return named;
}

Result<SessionPtr> Catalog::find_by_path(const std::string& path) const {
  std::error_code failed;
  std::string full = std::filesystem::weakly_canonical(std::filesystem::absolute(path, failed), failed).string();
  for (const auto& session : all_sessions()) {
    const LogPlace place = session->place();
    const std::string log = session->store().path_of(place);
    const std::string shown = "/" + session->shown_path();
    if (full == log || full + ".jsonl" == log || full.ends_with(shown) || full.find(shown + "/") != std::string::npos) {
      return session;
    }
  }
  if (!looks_like_path(path)) {
    return Error{Errc::not_found,
                 "no session has an id that starts with '" + path + "'; 'arborfs ls' lists the sessions"};
  }
  return Error{Errc::not_found, "no session of this store is at " + path};
}

Result<SessionPtr> Catalog::find(const std::string& spelled) const {
  if (spelled == "latest") {
    auto newest = recent(1);
    return newest.empty() ? Result<SessionPtr>(Errc::not_found, "there are no sessions yet")
                          : Result<SessionPtr>(newest.front().session);
  }
  const auto seen = view();
  if (auto session = seen->by_id_prefix(spelled)) {
    return session;
  }
  for (const auto& session : all_sessions()) {
    if (session->stem() == spelled) {
      return session;
    }
  }
  if (spelled.find('/') != std::string::npos || spelled.ends_with(".jsonl")) {
    return find_by_path(spelled);
  }
  const auto matches = std::count_if(seen->by_id.begin(), seen->by_id.end(),
                                     [&](const auto& row) { return row.first.starts_with(spelled); });
  if (matches > 1 && !spelled.empty()) {
    return Error{Errc::invalid_argument,
                 std::to_string(matches) + " sessions have an id with this prefix; give more of the id"};
  }
  return find_by_path(spelled);
}

}  // namespace arborfs
