// Which transcripts of a session are one growing file: while the path to the leaf only gets longer, the transcript
// keeps its version number; another path, or a rewritten log, begins a new one. Likewise for texts that are made anew
// each time (status.json): a new version number whenever the bytes differ. Numbers are never reused. Thread-safe; the
// mutexes are leaves.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "core/session/session.h"

namespace arborfs {

class TranscriptVersions {
 public:
  /// The version of the transcript up to the leaf now. Errors: stale (not indexed).
  Result<std::uint32_t> version_of(const Session& session);
  /// The last one given out for a session, 0 when there is none.
  [[nodiscard]] std::uint32_t last_of(std::uint32_t session) const;

 private:
  struct Line {
    std::uint32_t number = 0;
    std::uint32_t generation = 0;
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
  /// The version of `owner`'s text (a session's number, 0 for the mount) whose hash is given.
  std::uint32_t version_of(std::uint32_t owner, std::uint64_t hash);
  [[nodiscard]] std::uint32_t last_of(std::uint32_t owner) const;

 private:
  struct Version {
    std::uint32_t number = 0;
    std::uint64_t hash = 0;
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, Version> versions_;  // guarded by mutex_
};

}  // namespace arborfs
