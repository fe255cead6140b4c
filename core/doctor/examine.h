// Finds the faults that sessions of every format can have, in plain words. Changes nothing. Any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/log/log_index.h"
#include "core/log/log_source.h"
#include "core/session/catalog.h"
#include "core/store/finding.h"

namespace arborfs {

// Finds faults in the tree of a log's entries, of any format: parents, ids, labels. Changes nothing. Any thread.

/// `entry #42 (a1b2c3d4)`, safe to show.
std::string entry_words(const LogIndex& index, Ordinal ordinal);
/// The id in quotes, safe to show.
std::string id_words(const EntryId& id);

/// A finding about one entry.
Finding finding_about(const LogIndex& index, Ordinal ordinal, std::string_view kind, std::string text);

/// Finds orphans, cycles, labels on missing entries, and types of records that are not shown. The caller holds the
/// session's guard. In a log that does not only grow (LogIndex::only_grows), a compaction may have removed parents:
/// orphans are then no damage.
void find_in_tree(const LogIndex& index, std::vector<Finding>& found);

/// An entry with the id of an earlier one.
struct SameId {
  Finding finding;
  std::uint64_t offset_before = 0;  // of the last one before it with the id
  std::uint64_t length_before = 0;
};
/// The caller holds the session's guard.
std::vector<SameId> same_ids_in(const LogIndex& index);
/// Finds the entries whose bytes differ from those of the one before with the same id: a repetition loses nothing, and
/// programs write it in the normal course. Reads the log, so the caller holds no guard.
void find_in_ids(const LogSource& log, std::vector<SameId> same, std::vector<Finding>& found);

/// A copy of a session's state, so that the work needs no guard.
struct Reading {
  std::shared_ptr<const LogSource> log;
  std::uint64_t size = 0;
  std::vector<Damage> damage;
  std::vector<std::pair<std::uint64_t, Ordinal>> places;  // offsets of the entries, ascending
  bool is_young = false;                                  // another program may still be writing its end

  [[nodiscard]] Ordinal entry_before(std::uint64_t offset) const;
};

/// Reads the session, and finds faults of its header and its tree. Nothing if it cannot be read, which is also a
/// finding.
std::optional<Reading> read_for_doctor(Session& session, std::vector<Finding>& found);
/// Finds the bytes that agents drop.
void find_in_bytes(const Reading& reading, std::vector<Finding>& found);
/// Finds the faults that the session's store detects.
void find_in_store(const Session& session, std::vector<Finding>& found);
/// The kinds of findings of find_in_pairs().
inline constexpr std::string_view kCallWithoutResult = "call_without_result";
inline constexpr std::string_view kResultWithoutCall = "result_without_call";
/// Finds calls of tools without a result, and results without a call, because of which models refuse the conversation.
/// The last calls of a session that an agent may hold are none. Finds nothing in a session that takes no appends, which
/// no program continues, nor in a conversation that is too long or cannot be read.
void find_in_pairs(const Session& session, const Catalog& catalog, std::vector<Finding>& found);
/// Finds the entries that another program's rewrite has erased (core/session/store_state.h).
void find_erased(const Session& session, const Catalog& catalog, std::vector<Finding>& found);

/// All of these.
std::vector<Finding> find_faults(Session& session, const Catalog& catalog);

/// Notes (core/session/notes.h) of sessions that none of the catalog's stores has, by the file that has the notes;
/// without those of agents that have a store whose sessions cannot be listed. `is_kept`: the session is kept elsewhere.
std::vector<FileFinding> find_notes_of_gone(const Catalog& catalog,
                                            const std::function<bool(const Notes::Key&)>& is_kept);

}  // namespace arborfs
