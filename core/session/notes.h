// What users note about sessions where the agents' own files have no place for it: tags. A file for each agent,
// $XDG_DATA_HOME/arborfs/notes/<agent>.jsonl, has a line for each session with notes, in the order of their ids:
//   {"session":"<id>","tags":["blue","review"]}
// It is data, not a cache: arborfs never throws a line away, and keeps members that it does not know. Notes belong to
// an id, so they stay with a session that is moved, removed and restored, and copies of a session share them.
// Thread-safe; any number of processes.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/os/disk.h"

namespace arborfs {

class Session;

class Notes {
 public:
  static constexpr std::size_t kMostTags = 100;                     // of a session
  using Tags = std::vector<std::string>;                            // in the order of their bytes, each once
  using TagsOfSessions = std::map<std::string, Tags, std::less<>>;  // by session id; only sessions that have some
  using TagsPtr = std::shared_ptr<const TagsOfSessions>;

  /// A session without an id has the name of its log. The agent is that of the format: which agent a log is of may
  /// show only later in it.
  struct Key {
    std::string agent;
    std::string session;
  };
  [[nodiscard]] static Key key_of(const Session& session);

  /// `folder`: of the files, "" to keep notes in memory. `disk` outlives this.
  Notes(std::string folder, Disk& disk) : folder_(std::move(folder)), disk_(disk) {}

  /// Of all sessions of an agent; costs one stat unless the file has changed. Never null. Errors: those of
  /// open_private_folder and read_private_file, but for a missing file.
  [[nodiscard]] Result<TagsPtr> tags(const std::string& agent) const;
  [[nodiscard]] Result<Tags> tags(const Key& key) const;

  struct TagChange {
    Tags add;
    Tags remove;
    bool clears = false;  // first removes all
  };
  /// Returns the session's tags after the change. Changes of other processes at the same moment are kept. With `sync`
  /// it is on the disk on return. Errors: those of check_tag for what is added; invalid_argument for more than
  /// kMostTags; busy if another process holds the notes for long; permission, no_space, too_large, io and others of the
  /// disk.
  Result<Tags> change_tags(const Key& key, const TagChange& change, bool sync);

 private:
  struct Read {
    FileStat stat;
    TagsPtr tags;
  };
  [[nodiscard]] static std::string file_of(const std::string& agent) { return agent + ".jsonl"; }
  Result<Tags> change_file(const Key& key, const TagChange& change, bool sync);
  const std::string folder_;
  Disk& disk_;
  mutable std::mutex mutex_;                  // a leaf
  mutable std::map<std::string, Read> read_;  // by agent; guarded by mutex_
};

/// Reads the notes of each agent once, for many sessions. Used by one thread.
class TagsOfAgents {
 public:
  /// `notes` outlives it.
  explicit TagsOfAgents(const Notes& notes) : notes_(notes) {}
  /// None if the notes cannot be read, which problem() says.
  [[nodiscard]] const Notes::Tags& of(const Session& session);
  [[nodiscard]] bool has(const Session& session, const std::string& tag);
  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }

 private:
  const Notes& notes_;
  std::map<std::string, Notes::TagsPtr, std::less<>> read_;
  std::optional<Error> problem_;
};

/// A tag is a name of a folder and a word of a query. Errors: not_utf8; invalid_argument if it is empty or longer than
/// 100 bytes, begins with a dot or a hyphen, or has a slash, a comma, white space, or a character that is not shown.
Result<void> check_tag(std::string_view tag);

}  // namespace arborfs
