// How a catalog names its sessions, and what it tells about them.
#include <algorithm>
#include <set>
#include <utility>

#include "core/base/threads.h"
#include "core/json/date.h"
#include "core/session/catalog.h"

namespace arborfs {

namespace {

/// The minute in which the session was created; -1 if its agent did not record that. Sessions of other minutes have
/// other names.
std::int64_t minute_of(const Session& session) {
  constexpr std::int64_t kMinute = 60'000;
  const auto time = json::parse_date(session.head().header.timestamp);
  return time ? *time / kMinute : -1;
}

}  // namespace

Result<void> Catalog::read_words(const std::vector<SessionPtr>& sessions) {
  std::vector<SessionPtr> unread;
  std::copy_if(sessions.begin(), sessions.end(), std::back_inserter(unread),
               [](const SessionPtr& session) { return session->needs_words(); });
  std::atomic<bool> is_interrupted{false};
  parallel_for(unread.size(), [&](std::size_t at) {
    if (!is_interrupted && !unread[at]->read_words()) {
      is_interrupted = true;
    }
  });
  return is_interrupted ? Result<void>(Errc::interrupted, "the reader is gone") : Result<void>();
}

Result<void> Catalog::read_names() {
  words_ = Words::of_all;
  const auto sessions = all_sessions();
  RETURN_IF_ERROR(read_words(sessions));
  if (!sessions.empty()) {
    rebuild_view();
  }
  return {};
}

Result<void> Catalog::read_names_of(const std::vector<SessionPtr>& sessions) {
  std::set<std::int64_t> minutes;
  for (const auto& session : sessions) {
    minutes.insert(minute_of(*session));
  }
  auto alike = all_sessions();
  std::erase_if(alike, [&](const SessionPtr& session) { return !minutes.contains(minute_of(*session)); });
  auto before = Words::not_read;
  words_.compare_exchange_strong(before, Words::of_some);
  RETURN_IF_ERROR(read_words(alike));
  rebuild_view();
  return {};
}

/// True if it belongs elsewhere or has another name, once its words are read if its name needs them.
bool Catalog::is_misplaced(const SessionPtr& session) {
  if (words_ == Words::of_all && session->needs_words()) {
    static_cast<void>(session->read_words());
  }
  return session->is_misplaced();
}

void Catalog::place_anew(const SessionPtr& session) {
  { const std::lock_guard naming(naming_mutex_); }  // a view that another thread makes may place it already
  if (at(session->place()) == session && is_misplaced(session)) {
    place_anew(std::vector<SessionPtr>{session});
  }
}

void Catalog::place_anew(const std::vector<SessionPtr>& misplaced) {
  if (misplaced.empty()) {
    return;
  }
  bool is_only_renamed = true;
  for (const auto& session : misplaced) {
    if (session->belongs_elsewhere()) {
      is_only_renamed = false;
      session->reload_notes();
    }
  }
  rebuild_view();
  if (!is_only_renamed) {
    publish_catalog_changed();
  }
}

void Catalog::refresh_known(const std::vector<SessionPtr>& sessions) {
  std::vector<SessionPtr> misplaced;
  for (const auto& session : sessions) {
    if (auto refreshed = session->follow(); !refreshed) {
      if (refreshed.error().code != Errc::not_found) {
        note_error("log " + session->stem() + ": " + refreshed.error().message);
      }
      continue;
    }
    if (is_misplaced(session)) {
      misplaced.push_back(session);
    }
  }
  place_anew(misplaced);
}

void Catalog::publish_catalog_changed() {
  feed_.publish({.kind = Change::Kind::catalog_changed, .session_id = "", .path = ""});
}

/// True if only the session's own name, or that of one above it, has changed.
bool Catalog::is_rename(const CatalogView& before, const CatalogView& now, const MovedSession& moved) {
  const auto was = before.where.find(moved.session->number());
  const auto is = now.where.find(moved.session->number());
  return !moved.is_under_other_id && was != before.where.end() && is != now.where.end() &&
         was->second.starter == is->second.starter && was->second.project->number == is->second.project->number &&
         was->second.project->name == is->second.project->name;
}

/// Notifies readers that know the session by its old names; they find its new name themselves.
void Catalog::publish_move(const CatalogView& before, const MovedSession& moved) {
  const CatalogViewPtr now = view();
  if (is_rename(before, *now, moved)) {
    feed_.publish({.kind = Change::Kind::session_renamed,
                   .session = moved.session->number(),
                   .session_id = moved.identity.id,
                   .path = now->path_of(moved.session->number()),
                   .path_before = moved.path_before,
                   .starter = now->starter_of(moved.session->number())});
    return;
  }
  Change gone;
  gone.kind = Change::Kind::session_removed;
  gone.session = moved.session->number();
  gone.session_id = moved.identity.id;
  gone.path = moved.path_before;
  gone.starter = before.starter_of(gone.session);
  const auto is_it = [&](const auto& row) { return row.second == moved.session; };
  if (before.by_id_prefix(encoded_name(moved.identity.id)) != moved.session) {
    const auto old_name = std::find_if(before.by_id.begin(), before.by_id.end(), is_it);
    gone.session_id = old_name == before.by_id.end() ? "" : old_name->first;
  }
  feed_.publish(std::move(gone));
  publish(moved.session, Change::Kind::session_added, *now);
}

void Catalog::publish(const SessionPtr& session, Change::Kind kind, const CatalogView& seen) {
  feed_.publish({.kind = kind,
                 .session = session->number(),
                 .session_id = session->identity().id,
                 .path = session->shown_path(),
                 .starter = seen.starter_of(session->number())});
}

}  // namespace arborfs
