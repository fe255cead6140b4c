// The data that arborfs keeps for the sessions of one store, outside their logs. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/session/awaited_blobs.h"
#include "core/session/erased_entries.h"
#include "core/session/leaf_store.h"
#include "core/session/pending_appends.h"
#include "core/session/write_marks.h"
#include "core/store/session_store.h"

namespace arborfs {

struct StoreState {
  /// `folder` is the state folder, shared by all stores: the names of the files in it distinguish stores by the paths
  /// of their sessions. Without a folder ("") leaves are kept in memory and the other data is not kept.
  StoreState(const SessionStore& store, const std::string& folder)
      : leaves(below(folder, "/leaves"), store.paths().sessions, store.disk()),
        erased(folder, store.paths().sessions, store.disk()),
        marks(below(folder, "/marks"), store.paths().sessions, store.disk()),
        pending(below(folder, "/appending"), store.paths().sessions, store.disk()),
        awaited_blobs(std::make_shared<AwaitedBlobs>()) {}

  LeafStore leaves;        // moved leaves
  ErasedEntries erased;    // acknowledged entries that a log has lost
  WriteMarks marks;        // which writes to logs were arborfs' own
  PendingAppends pending;  // appends in progress
  const std::shared_ptr<AwaitedBlobs> awaited_blobs;

 private:
  static std::string below(const std::string& folder, const char* name) { return folder.empty() ? "" : folder + name; }
};

}  // namespace arborfs
