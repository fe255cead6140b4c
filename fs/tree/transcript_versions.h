// Version numbers that show which transcripts of a session are one growing file: while the path to the leaf only gets
// longer, the transcript keeps its number; another path, or a rewritten log, starts a new one. Likewise for texts that
// are made again each time (status.json): a new number whenever the bytes differ. Numbers are never reused.
// Thread-safe; the mutexes are leaves.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "core/session/session.h"
#include "fs/tree/node_id.h"

namespace arborfs {

class TranscriptVersions {
 public:
  /// The version of the transcript that ends at the present leaf. Errors: stale (not indexed).
  Result<std::uint32_t> version_of(const Session& session);
  /// The last version handed out for a session, 0 if there is none.
  [[nodiscard]] std::uint32_t last_of(std::uint32_t session) const;

 private:
  struct Line {
    std::uint32_t number = 0;
    std::uint32_t generation = 0;  // of `leaf`
    std::uint32_t epoch = 0;
    Ordinal leaf = kNoEntry;
    bool operator==(const Line&) const = default;
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, Line> lines_;  // by session; guarded by mutex_
  std::uint32_t last_ = 0;                         // guarded by mutex_
};

class TextVersions {
 public:
  /// The version of a file's text that has this hash; `file` is the file's node with the item 0.
  std::uint32_t version_of(NodeId file, std::uint64_t hash);

 private:
  struct Version {
    std::uint32_t number = 0;
    std::uint64_t hash = 0;
  };
  mutable std::mutex mutex_;
  std::unordered_map<NodeId, Version> versions_;  // guarded by mutex_
};

}  // namespace arborfs
