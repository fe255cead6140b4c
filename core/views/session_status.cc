#include "core/views/session_status.h"

#include <algorithm>
#include <set>

#include "core/log/log_reader.h"
#include "core/model/people_path.h"
#include "core/model/tree.h"
#include "core/render/names.h"
#include "core/render/text.h"
#include "core/session/liveness.h"
#include "core/views/shown_damage.h"

namespace arborfs {

namespace {

constexpr std::uint64_t kMaxSalvaged = 1 << 20;
constexpr std::size_t kMaxSalvagedRuns = 256;

void count_tree(const LogIndex& index, Ordinal leaf, SessionStatus& status) {
  status.entries = index.size();
  status.branches = conversation_ends(index, leaf).size();
  std::set<std::uint32_t> seen;
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    status.orphans += index.is_orphan(ordinal) ? 1 : 0;
    if (index.length(ordinal) > kMaxRenderedEntry) {
      status.too_long_entries.push_back(names::entry_stem(index, ordinal));
    }
    if (index.has_duplicate_ids() && index.entry(ordinal).id != 0 && !seen.insert(index.entry(ordinal).id).second) {
      ++status.duplicate_ids;
    }
  }
  status.cycles = tree_of(index).unreachable.size();
  for (const auto& label : index.labels()) {
    if (index.find(label.target) == kNoEntry) {
      status.dangling_labels.push_back(label.text);
    }
  }
}

std::string moved_leaf(const LogIndex& index, Ordinal leaf) {
  const auto name = [&](Ordinal entry) { return entry == kNoEntry ? "root" : std::string(index.id(entry).text); };
  return leaf == index.leaf() ? ""
                              : "arborfs moved the leaf to " + name(leaf) + "; the agent continues at " +
                                    name(index.leaf()) + " until the next append";
}

void judge(const Format& format, const Header& header, SessionStatus& status) {
  if (const auto writable = check_writable(format); !writable) {
    status.writable = false;
    status.problem = header.problem;
    status.read_only_reason = writable.error().message;
  } else if (!header.valid) {
    status.writable = false;
    status.problem = header.problem.empty() ? "the log has no session header" : header.problem;
    status.read_only_reason = "the log has no valid header, so arborfs does not write to it; see arborfs doctor";
  } else if (!header.writable_version) {
    status.writable = false;
    status.read_only_reason =
        header.problem.empty() ? "the log has a version that this arborfs does not know" : header.problem;
  }
}

void salvage(const LogSource& log, SessionStatus& status) {
  for (std::size_t run = 0; run < std::min(status.damage.size(), kMaxSalvagedRuns); ++run) {
    const Damage& damage = status.damage[run];
    if (damage.kind == Damage::Kind::nul) {
      continue;
    }
    if (auto bytes = log.read(damage.offset, std::min(damage.length, kMaxSalvaged))) {
      const auto ids = whole_records(*bytes);
      status.whole_records_in_damage.insert(status.whole_records_in_damage.end(), ids.begin(), ids.end());
    }
  }
}

}  // namespace

SessionStatus session_status(const Session& session, const Catalog& catalog) {
  SessionStatus status;
  const auto head = session.head();
  status.bytes = head.stat.size;
  judge(session.format(), head.header, status);
  if (const auto may = check_no_link(session.store(), session.place()); status.writable && !may) {
    status.writable = false;
    status.read_only_reason = may.error().message;
  }
  std::shared_ptr<const LogSource> log;
  std::set<std::string> blobs;
  if (const auto guard = session.read()) {
    log = guard->log();
    status.dialect = session.format().reader->dialect_name(guard->index().dialect());
    count_tree(guard->index(), guard->leaf(), status);
    status.damage = shown_damage(*guard);
    status.not_shown = guard->index().not_shown();
    status.moved_leaf = moved_leaf(guard->index(), guard->leaf());
    if (guard->has_details()) {
      for (const auto& image : guard->details().images()) {
        if (!image.blob.empty()) {
          blobs.insert(image.blob);
        }
      }
    }
  }
  status.last_error = session.write_error();
  const std::string file = session.place().file;
  for (const auto& entry : catalog.state_of(session).erased.of(file)) {
    status.erased_entries.push_back(entry.id);
  }
  status.erased_file = status.erased_entries.empty() ? "" : catalog.state_of(session).erased.path_of(file);
  if (!head.problem.empty()) {
    status.problem = head.problem;
  }
  if (log) {
    salvage(*log, status);
  }
  for (const auto& blob : blobs) {
    status.missing_blobs += session.store().blobs()->open(blob) ? 0 : 1;
  }
  const auto liveness = check_liveness(session, catalog);
  status.state = liveness_word(liveness.state);
  status.reasons = liveness.reasons;
  return status;
}

}  // namespace arborfs
