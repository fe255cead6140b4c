#include "core/entry/people_path.h"

#include <algorithm>
#include <utility>

namespace arborfs {
namespace {

using Break = PeopleStep::Break;

bool is_compaction(const LogIndex& index, Ordinal ordinal) {
  return index.entry(ordinal).type == EntryType::compaction;
}

/// True if the record says that nothing came before its entry.
bool is_start(const LogIndex& index, Ordinal ordinal) {
  return index.entry(ordinal).parent == 0 && index.parent_id(ordinal) == EntryId{EntryId::Kind::other, "null"};
}

/// A row that was written again stands where it was said first, and the last of its copies has what follows it.
Ordinal nearest_before(const LogIndex& index, Ordinal ordinal) {
  const Ordinal first = index.repeats(ordinal);
  Ordinal at = (first == kNoEntry ? ordinal : first) - 1;
  while (at != kNoEntry && (index.is_aside(at) || index.repeats(at) != kNoEntry)) {
    --at;
  }
  const bool may_be_repeated = at != kNoEntry && index.has_duplicate_ids() && index.entry(at).id != 0;
  const Ordinal last = may_be_repeated ? index.find(index.id(at)) : at;
  return index.repeats(last) == at ? last : at;
}

Break break_between(const LogIndex& index, Ordinal before, Ordinal ordinal) {
  if (before != kNoEntry && is_compaction(index, ordinal)) {
    return is_compaction(index, before) ? Break::none : Break::compaction;
  }
  if (index.parent(ordinal) != kNoEntry) {
    return Break::none;
  }
  if (index.named_before(ordinal) != kNoEntry) {
    return Break::compaction;
  }
  return before != kNoEntry || index.is_orphan(ordinal) ? Break::gap : Break::none;
}

/// For each entry, the nearest talk at or above it.
class NearestTalk {
 public:
  explicit NearestTalk(const LogIndex& index) : index_(index), found_(index.size() + std::size_t{1}, kUnknown) {
    found_[kNoEntry] = kNoEntry;
  }

  Ordinal of(Ordinal ordinal) {
    std::vector<Ordinal> waiting;
    Ordinal at = ordinal;
    while (found_[at] == kUnknown && !is_own(at)) {
      found_[at] = kNoEntry;  // ends a cycle
      waiting.push_back(at);
      at = before_for_people(index_, at);
    }
    const Ordinal nearest = found_[at] == kUnknown ? at : found_[at];
    found_[at] = nearest;
    for (const Ordinal each : waiting) {
      found_[each] = nearest;
    }
    return nearest;
  }

 private:
  static constexpr Ordinal kUnknown = UINT32_MAX;
  [[nodiscard]] bool is_own(Ordinal ordinal) const { return is_talk(index_, ordinal); }

  const LogIndex& index_;
  std::vector<Ordinal> found_;
};

}  // namespace

Ordinal before_for_people(const LogIndex& index, Ordinal ordinal) {
  if (const Ordinal parent = index.parent(ordinal); parent != kNoEntry) {
    return parent;
  }
  if (const Ordinal named = index.named_before(ordinal); named != kNoEntry) {
    return named;
  }
  const bool continues = !is_start(index, ordinal) || is_compaction(index, ordinal);
  return continues && !index.is_aside(ordinal) && index.only_grows() ? nearest_before(index, ordinal) : kNoEntry;
}

std::vector<PeopleStep> people_path(const LogIndex& index, Ordinal leaf) {
  std::vector<PeopleStep> path;
  std::vector<bool> seen(index.size() + std::size_t{1});
  seen[kNoEntry] = true;
  for (Ordinal at = leaf; !seen[at];) {
    seen[at] = true;
    if (at == leaf && index.has_duplicate_ids()) {
      seen[index.find(index.id(leaf))] = true;
    }
    const Ordinal before = before_for_people(index, at);
    path.push_back({at, break_between(index, before, at), 0});
    at = before;
  }
  std::reverse(path.begin(), path.end());
  std::uint32_t earlier = 0;
  for (PeopleStep& step : path) {
    if (step.before == Break::gap) {
      step.earlier = std::exchange(earlier, 0);
    }
    ++earlier;
  }
  return path;
}

std::vector<Ordinal> people_entries(const LogIndex& index, Ordinal leaf) {
  std::vector<Ordinal> entries;
  for (const PeopleStep& step : people_path(index, leaf)) {
    entries.push_back(step.ordinal);
  }
  return entries;
}

bool is_talk(const LogIndex& index, Ordinal ordinal) {
  const EntryType type = index.entry(ordinal).type;
  const bool is_said = type == EntryType::message || type == EntryType::compaction ||
                       type == EntryType::branch_summary || type == EntryType::custom_message;
  return is_said && !index.is_aside(ordinal);
}

namespace {

/// True for an entry whose id a later one has too: the lookups by id give that one, which has the children.
bool is_superseded(const LogIndex& index, Ordinal ordinal) {
  return index.has_duplicate_ids() && index.entry(ordinal).id != 0 && index.find(index.id(ordinal)) != ordinal;
}

}  // namespace

std::vector<Ordinal> conversation_ends(const LogIndex& index, Ordinal leaf) {
  NearestTalk talk(index);
  std::vector<bool> is_followed(index.size() + std::size_t{1});
  std::vector<Ordinal> last(index.size() + std::size_t{1}, kNoEntry);  // below each talk
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    if (is_talk(index, ordinal)) {
      is_followed[talk.of(before_for_people(index, ordinal))] = true;
    }
    if (!index.is_aside(ordinal)) {
      last[talk.of(ordinal)] = ordinal;
    }
  }
  if (leaf != kNoEntry) {
    last[talk.of(leaf)] = leaf;
  }
  std::vector<Ordinal> ends;
  for (Ordinal ordinal = kNoEntry; ordinal <= index.size(); ++ordinal) {
    const bool is_end = !is_followed[ordinal] && last[ordinal] != kNoEntry;
    if (is_end && (ordinal == kNoEntry || !is_superseded(index, ordinal))) {
      ends.push_back(last[ordinal]);
    }
  }
  std::sort(ends.begin(), ends.end());
  return ends;
}

}  // namespace arborfs
