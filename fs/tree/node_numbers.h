// The numbers that node ids are made of: of sessions and their generations, of strings, of versions of texts. None is
// ever reused, so a node of an old state is always recognised as such. Thread-safe; the mutexes are leaves.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/session/session.h"
#include "fs/tree/node_id.h"

namespace arborfs {

/// Short numbers (slots) for sessions: one for a session itself, one for each of its generations that has been shown.
class SessionIds {
 public:
  struct Slot {
    std::uint32_t session = 0;     // Session::number
    std::uint32_t generation = 0;  // 0: the session itself
  };
  /// Makes the slot if there is none. 0 if the numbers have run out (16 million).
  std::uint32_t slot_of(std::uint32_t session, std::uint32_t generation);
  /// 0 if slot_of() never created it: then the kernel cannot know it either.
  [[nodiscard]] std::uint32_t find(std::uint32_t session, std::uint32_t generation) const;
  [[nodiscard]] std::optional<Slot> at(std::uint32_t slot) const;

 private:
  mutable std::shared_mutex mutex_;
  std::vector<Slot> slots_{Slot{}};                           // guarded by mutex_; slot 0 is not a session
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // guarded by mutex_
};

/// Numbers for strings that are part of node ids: names of blobs, paths below artifacts/. Numbers are never reused and
/// strings never dropped while the mount lives. Thread-safe; mutex_ is a leaf.
class InternTable {
 public:
  /// From 1; 0 if the numbers have run out.
  std::uint32_t number_of(std::string_view text) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = numbers_.find(text); found != numbers_.end()) {
        return found->second;
      }
    }
    const std::unique_lock lock(mutex_);
    if (const auto found = numbers_.find(text); found != numbers_.end()) {
      return found->second;
    }
    if (texts_.size() >= UINT32_MAX) {
      return 0;
    }
    texts_.emplace_back(text);
    const auto number = static_cast<std::uint32_t>(texts_.size());
    numbers_.emplace(texts_.back(), number);
    return number;
  }

  [[nodiscard]] std::optional<std::string> text_of(std::uint32_t number) const {
    const std::shared_lock lock(mutex_);
    if (number == 0 || number > texts_.size()) {
      return std::nullopt;
    }
    return texts_[number - 1];
  }

 private:
  mutable std::shared_mutex mutex_;
  std::deque<std::string> texts_;                                // guarded by mutex_; elements never move
  std::unordered_map<std::string_view, std::uint32_t> numbers_;  // guarded by mutex_; keys point into texts_
};

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

/// Version numbers that show which transcripts of a session are one growing file: while the path to the leaf only gets
/// longer, the transcript keeps its number; another path, or a rewritten log, starts a new one. Likewise for texts that
/// are made again each time (status.json): a new number whenever the bytes differ. Numbers are never reused.
/// Thread-safe; the mutexes are leaves.
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
