#include "core/write/retention.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "core/entry/tree.h"

namespace arborfs {

Children::Children(const Catalog& catalog) : view_(catalog.view()) {
  for (const auto& [name, session] : view_->by_id) {
    if (is_one(session)) {
      by_parent_[{session->store_number(), session->head().header.started_by}].push_back(session);
    }
  }
}

bool Children::is_one(const SessionPtr& session) {
  return session->format().removes_children && !session->head().header.started_by.empty();
}

std::vector<SessionPtr> Children::of(const SessionPtr& session) const {
  std::vector<SessionPtr> found;
  std::set<std::string> known{session->id()};
  add(session, known, found);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const SessionPtr child = found[i];
    add(child, known, found);
  }
  return found;
}

void Children::add(const SessionPtr& parent, std::set<std::string>& known, std::vector<SessionPtr>& found) const {
  const auto children = by_parent_.find({parent->store_number(), parent->id()});
  if (!parent->format().removes_children || children == by_parent_.end()) {
    return;
  }
  for (const SessionPtr& child : children->second) {
    if (known.insert(child->id()).second) {
      found.push_back(child);
    }
  }
}

namespace {

constexpr std::int64_t kMsPerSecond = 1000;
constexpr std::int64_t kNanosPerMs = 1'000'000;
constexpr unsigned kMostDays = 20'000;  // longer than any session can be old

/// Fate::removed if it has neither a label nor a tag.
Fate fate_by_labels(const Catalog& catalog, const SessionPtr& session, std::string& why) {
  const auto noted = catalog.noted_of(*session);
  if (!noted) {
    why = "its notes cannot be read: " + noted.error().message;
    return Fate::refused;
  }
  if (!tags_of(*session, **noted).empty() || !session->tag().empty() || !(*noted)->labels.empty()) {
    return Fate::labelled;
  }
  if (const auto refreshed = session->refresh(Depth::index); !refreshed) {
    why = refreshed.error().message;
    return Fate::refused;
  }
  const auto guard = session->read();
  if (!guard) {
    why = "the session changed while it was read";
    return Fate::refused;
  }
  return named_labels(guard->index()).empty() ? Fate::removed : Fate::labelled;
}

/// Those by which the session was started, the nearest first.
std::vector<SessionPtr> starters_of(const Catalog& catalog, const SessionPtr& session) {
  constexpr std::size_t kDeepest = 32;
  std::vector<SessionPtr> starters;
  for (SessionPtr at = session; at != nullptr && starters.size() < kDeepest;) {
    const std::string starter = at->head().header.started_by;
    const auto found = starter.empty() ? Result<SessionPtr>(Errc::not_found, "")
                                       : catalog.find(std::string(at->agent()) + ":" + starter);
    at = found ? *found : nullptr;
    if (at != nullptr) {
      starters.push_back(at);
    }
  }
  return starters;
}

Fate fate_of_all(Writer& writer, const Judged& judged, const Retention& retention, std::string& why) {
  std::vector<SessionPtr> all = starters_of(writer.catalog(), judged.session);
  all.insert(all.begin(), judged.session);
  all.insert(all.end(), judged.children.begin(), judged.children.end());
  for (const SessionPtr& session : all) {
    if (const Fate fate = retention.labelled ? Fate::removed : fate_by_labels(writer.catalog(), session, why);
        fate != Fate::removed) {
      return fate;
    }
  }
  if (const auto may = writer.check_remove(judged.session); !may) {
    why = may.error().message;
    return may.error().code == Errc::busy ? Fate::live : Fate::refused;
  }
  return Fate::removed;
}

std::int64_t cut_ns(const Retention& retention) {
  return days_before(retention.now_ms, retention.keep_days) * kNanosPerMs;
}

}  // namespace

std::int64_t days_before(std::int64_t now_ms, unsigned days) {
  const std::time_t now = now_ms / kMsPerSecond;
  std::tm local{};
  ::localtime_r(&now, &local);
  local.tm_mday -= static_cast<int>(std::min(days, kMostDays));
  local.tm_isdst = -1;
  return std::mktime(&local) * kMsPerSecond + now_ms % kMsPerSecond;
}

std::vector<Judged> judge(Writer& writer, std::vector<Candidate> candidates, const Retention& retention) {
  std::erase_if(candidates, [](const Candidate& one) {
    return !one.session->format().takes("remove") || Children::is_one(one.session);
  });
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.written_ns > b.written_ns; });
  const Children children(writer.catalog());
  const std::int64_t cut = cut_ns(retention);
  std::vector<Judged> all;
  for (Candidate& one : candidates) {
    Judged judged{std::move(one.session), one.written_ns, Fate::removed, "", {}, 0};
    if (judged.written_ns >= cut) {
      judged.fate = Fate::young;
    } else if (all.size() < retention.keep_count) {
      judged.fate = Fate::newest;
    } else {
      judged.children = children.of(judged.session);
      judged.seen_ns = judged.session->mtime_ns();  // before it is read again: it may have been written since
      judged.fate = fate_of_all(writer, judged, retention, judged.why);
    }
    all.push_back(std::move(judged));
  }
  return all;
}

Fate judge_again(Writer& writer, const Judged& judged, const Retention& retention, std::string& why) {
  if (const auto refreshed = judged.session->refresh(Depth::head); !refreshed) {
    why = refreshed.error().message;
    return Fate::refused;
  }
  const std::int64_t written_ns = judged.session->mtime_ns();
  const bool is_written = written_ns != judged.seen_ns && written_ns >= cut_ns(retention);
  return is_written ? Fate::young : fate_of_all(writer, judged, retention, why);
}

}  // namespace arborfs
