// Which sessions `arborfs prune` removes (CONTRACT.md 4.8): those that are neither young nor among the newest. Sessions
// that a session started are removed with it and are not judged themselves. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/session/catalog.h"
#include "core/write/writer.h"

namespace arborfs {

/// The sessions of a catalog that others started, for the formats whose sessions are removed with those that they
/// started (Format::removes_children). A snapshot; any thread.
class Children {
 public:
  explicit Children(const Catalog& catalog);
  /// Even if the session that started it is gone.
  static bool is_one(const SessionPtr& session);
  /// Those that a session started, however deep.
  [[nodiscard]] std::vector<SessionPtr> of(const SessionPtr& session) const;

 private:
  using Id = std::pair<std::uint8_t, std::string>;
  void add(const SessionPtr& parent, std::set<std::string>& known, std::vector<SessionPtr>& found) const;
  const CatalogViewPtr view_;
  std::map<Id, std::vector<SessionPtr>> by_parent_;
};

struct Retention {
  std::int64_t now_ms = 0;
  unsigned keep_days = 30;
  std::size_t keep_count = 50;
  bool labelled = false;  // removes sessions with labels or tags too
};

/// Whether a session is removed, or why it stays.
enum class Fate : std::uint8_t {
  young,     // it was written within keep_days
  newest,    // it is among the keep_count that were written last
  labelled,  // it, one that it started, or one by which it was started, has a label or a tag
  live,      // an agent holds it, or one that it started, or may hold it
  refused,   // it cannot be removed, or not be read
  removed,
};

struct Candidate {
  SessionPtr session;
  std::int64_t written_ns = 0;
};

struct Judged {
  SessionPtr session;
  std::int64_t written_ns = 0;
  Fate fate = Fate::removed;
  std::string why;                   // in words, if it is live or refused
  std::vector<SessionPtr> children;  // that the session started, however deep
  std::int64_t seen_ns = 0;          // Session::mtime_ns before it was judged, for judge_again()
};

/// The same time of day this many days earlier, in the local calendar.
std::int64_t days_before(std::int64_t now_ms, unsigned days);
/// Judges sessions, newest first. Those that arborfs cannot remove, and those that another session started, are left
/// out. Removes nothing.
std::vector<Judged> judge(Writer& writer, std::vector<Candidate> candidates, const Retention& retention);
/// The present fate of a session that was to be removed: it may have been written, or given a label, since. `why` as
/// Judged::why. Removes nothing.
Fate judge_again(Writer& writer, const Judged& judged, const Retention& retention, std::string& why);

}  // namespace arborfs
