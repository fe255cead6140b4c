// The path of a conversation as people read it. The agent's own path (path_to) ends where the model's memory does: at
// a compaction, and at a parent that was never written. People look for exactly what is before that. Queries on an
// index that must not change meanwhile (the caller holds the session's read guard); they neither recurse nor read the
// log.
#pragma once

#include <vector>

#include "core/log/log_index.h"

namespace arborfs {

/// The entry that came before this one for people: its parent, else the one that its record names beside the parent
/// (LogIndex::named_before), else, for a compaction and for an entry whose parent the log does not have or does not
/// name, the nearest one before it in the log that is no aside and repeats no other, if the agent wrote the log in that
/// order. kNoEntry for the start of a conversation.
Ordinal before_for_people(const LogIndex& index, Ordinal ordinal);

/// One entry of a path for people.
struct PeopleStep {
  /// What lies between this entry and the one before it.
  enum class Break : std::uint8_t {
    none,
    compaction,  // the agent sends what is above only in a shorter form
    gap,         // the log does not connect it with what is above
  };
  Ordinal ordinal = kNoEntry;
  Break before = Break::none;
  std::uint32_t earlier = 0;  // at a gap: how many entries are above it, up to the gap before; 0 if none is left
};

/// The entries from the start of the conversation to `leaf`. A cycle is cut at the first id seen twice, as in
/// path_to(). Empty for kNoEntry.
std::vector<PeopleStep> people_path(const LogIndex& index, Ordinal leaf);
/// The entries of that path alone.
std::vector<Ordinal> people_entries(const LogIndex& index, Ordinal leaf);

/// True for an entry of a conversation: a message, a summary. Settings, labels and notes of programs are none.
bool is_talk(const LogIndex& index, Ordinal ordinal);

/// The ends of the conversations in the log, ascending: for each talk that no other follows, the last entry below it,
/// or `leaf` if that stands below it. Without any talk, the last entry. Asides are none, and neither are entries whose
/// id a later one has too.
std::vector<Ordinal> conversation_ends(const LogIndex& index, Ordinal leaf);

}  // namespace arborfs
