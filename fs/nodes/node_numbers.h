// The numbers that node ids are made of (of sessions and their generations, of strings, of versions of texts), and
// those that programs see (st_ino). None is ever reused, so a node of an old state is always recognised as such.
// Thread-safe; the mutexes are leaves.
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

#include "core/log/log_index.h"
#include "core/session/catalog.h"
#include "core/session/session.h"
#include "fs/nodes/node_id.h"

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

/// Numbers for strings that are part of node ids: names of blobs, paths below artifacts/. Strings are never
/// dropped while the mount lives.
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

/// Version numbers that show which transcripts of a session are one growing file: while the path to the leaf only gets
/// longer, the transcript keeps its number; another path, or a rewritten log, starts a new one.
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

/// The same for texts that are made again each time (status.json): a new number whenever the bytes differ.
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

/// st_ino: a hash of the entry or name that a file stands for, so that the number survives a remount and nothing has to
/// be stored. `word` is the kind of file (NodeRow::word), `what` distinguishes files of that kind. Never 0 or 1.
std::uint64_t stable_ino(std::uint64_t seed, std::string_view word, std::string_view what = {});

/// The same for a file that belongs to one entry. It depends on the entry's time and id, so it survives a rewrite of
/// the log; only entries without an id of their own use their ordinal. The time is in the high bits, because find, grep
/// -r and others read a folder of more than 10,000 files in inode order: this makes it the order of the log, as with
/// files on a disk. If the time is of no use (missing, out of range, or equal to that of the entry before), the number
/// is a plain hash.
std::uint64_t entry_ino(std::uint64_t seed, std::string_view word, const LogIndex& index, Ordinal ordinal);

/// The inode seeds of sessions, made from the names of their logs. Thread-safe; mutex_ comes before the locks of
/// sessions, so it is never taken under a Guard.
class InodeSeeds {
 public:
  std::uint64_t seed_of(const Session& session, const CatalogView& view);

 private:
  // Both need mutex_:
  void take_names(const CatalogView& view);
  std::uint64_t new_seed(const Session& session, const CatalogView& view);
  std::shared_mutex mutex_;
  std::unordered_map<std::uint32_t, std::uint64_t> seeds_;  // by session number; guarded by mutex_
  std::uint64_t view_version_ = 0;                          // of names_; guarded by mutex_
  std::unordered_multimap<std::uint64_t, std::uint32_t>
      names_;  // hash of a log's name to session number; guarded by mutex_
};

}  // namespace arborfs
