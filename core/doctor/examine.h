// Finds the faults that sessions of every format can have, in plain words. Changes nothing. Any thread.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/session/catalog.h"
#include "core/store/finding.h"

namespace arborfs {

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
/// Finds the entries that another program's rewrite has erased (core/session/store_state.h).
void find_erased(const Session& session, const Catalog& catalog, std::vector<Finding>& found);

/// All of these.
std::vector<Finding> find_faults(Session& session, const Catalog& catalog);

}  // namespace arborfs
