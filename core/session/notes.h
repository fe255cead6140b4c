// What users note about sessions where the agents' own files have no place for it: tags, and, as far as a format has
// no such verb (Format::takes), a title and labels of entries. A file for each agent,
// $XDG_DATA_HOME/arborfs/notes/<agent>.jsonl, has a line for each session with notes, in the order of their ids:
//   {"session":"<id>","tags":["blue","review"],"title":"Kites","labels":{"<id of an entry>":"checkpoint"}}
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

class LogRedaction;  // core/log/redacted_log.h
class Session;

/// The notes of one session.
struct Noted {
  using Tags = std::vector<std::string>;
  struct EntryLabel {
    std::string entry;  // its id
    std::string text;
    bool operator==(const EntryLabel&) const = default;
  };
  Tags tags;                       // in the order of their bytes, each once
  std::string title;               // "" for none
  std::vector<EntryLabel> labels;  // at most one of an entry, in the order in which they were set
  bool operator==(const Noted&) const = default;
};
/// Never null where it is returned.
using NotedPtr = std::shared_ptr<const Noted>;

const NotedPtr& nothing_noted();

/// The members of a line, but for its session: a JSON object; "" for a session without notes.
std::string noted_json(const Noted& noted);
/// What such members say; empty for other text.
Noted noted_in(std::string_view json);

class Notes {
 public:
  static constexpr std::size_t kMostTags = 100;     // of a session
  static constexpr std::size_t kMostLabels = 1000;  // of a session
  static constexpr std::size_t kLongestLabel = 4096;
  using Tags = Noted::Tags;
  using OfSessions = std::map<std::string, Noted, std::less<>>;  // by session id; only sessions that have some
  using OfSessionsPtr = std::shared_ptr<const OfSessions>;

  /// A session without an id has the name of its log. The agent is that of the format: which agent a log is of may
  /// show only later in it.
  struct Key {
    std::string agent;
    std::string session;
  };
  [[nodiscard]] static Key key_of(const Session& session);

  /// `folder`: of the files, "" to keep notes in memory. `disk` outlives this. With a `redaction` (Store::redaction),
  /// which outlives this too, notes are without secrets, and must not be changed.
  Notes(std::string folder, Disk& disk, const LogRedaction* redaction = nullptr)
      : folder_(std::move(folder)), disk_(disk), redaction_(redaction) {}
  [[nodiscard]] Disk& disk() const { return disk_; }

  /// Of all sessions of an agent; costs one stat unless the file has changed. Never null. Errors: those of
  /// open_private_folder and read_private_file, but for a missing file.
  [[nodiscard]] Result<OfSessionsPtr> of_agent(const std::string& agent) const;
  [[nodiscard]] Result<NotedPtr> of(const Key& key) const;
  /// "" for notes in memory.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string path_of(const std::string& agent) const { return folder_ + "/" + file_of(agent); }

  // Each returns the session's notes after the change. Changes of other processes at the same moment are kept. With
  // `sync` it is on the disk on return. Errors of all: busy if another process holds the notes for long; permission,
  // no_space, too_large, io and others of the disk.

  struct TagChange {
    Tags add;
    Tags remove;
    bool clears = false;  // first removes all
  };
  /// The tags after a change.
  static Tags changed(Tags tags, const TagChange& change);
  /// Errors also: those of check_tag for what is added; invalid_argument for more than kMostTags.
  Result<Noted> change_tags(const Key& key, const TagChange& change, bool sync);
  /// "" removes the title.
  Result<Noted> set_title(const Key& key, const std::string& title, bool sync);
  /// All or none; a text "" removes the label of the entry. Errors also: not_utf8; too_large for a text above
  /// kLongestLabel; invalid_argument for more than kMostLabels.
  Result<Noted> set_labels(const Key& key, const std::vector<Noted::EntryLabel>& labels, bool sync);
  /// Puts these notes in the place of all that the session has.
  Result<Noted> put(const Key& key, const Noted& noted, bool sync);

 private:
  using Change = std::function<Result<void>(Noted&)>;
  struct Read {
    FileStat stat;
    OfSessionsPtr sessions;
  };
  [[nodiscard]] static std::string file_of(const std::string& agent) { return agent + ".jsonl"; }
  Result<Noted> change(const Key& key, const Change& make, bool sync);
  Result<Noted> change_file(const Key& key, const Change& make, bool sync);
  const std::string folder_;
  Disk& disk_;
  const LogRedaction* const redaction_;
  mutable std::mutex mutex_;                  // a leaf
  mutable std::map<std::string, Read> read_;  // by agent; guarded by mutex_
};

/// Reads the notes of each agent once, for many sessions. Used by one thread.
class NotesOfAgents {
 public:
  /// `notes` outlives it.
  explicit NotesOfAgents(const Notes& notes) : notes_(notes) {}
  /// None if the notes cannot be read, which problem() says.
  [[nodiscard]] const Noted& of(const Session& session);
  /// Also for the tag that the agent keeps.
  [[nodiscard]] bool has_tag(const Session& session, const std::string& tag);
  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }

 private:
  const Notes& notes_;
  std::map<std::string, Notes::OfSessionsPtr, std::less<>> read_;
  std::optional<Error> problem_;
};

/// Reloads the notes of those sessions (Session::reload_notes) for which others are kept now. Errors: the last one of
/// Notes::of_agent; the sessions of that agent keep what they have.
Result<void> reload_notes(const Notes& notes, const std::vector<std::shared_ptr<Session>>& sessions);

/// The tags of a session: those noted, and the one that its agent keeps itself, if that is a tag for arborfs too.
Noted::Tags tags_of(const Session& session, const Noted& noted);

/// A tag is a name of a folder and a word of a query. Errors: not_utf8; invalid_argument if it is empty or longer than
/// 100 bytes, begins with a dot or a hyphen, or has a slash, a comma, white space, or a character that is not shown.
Result<void> check_tag(std::string_view tag);

}  // namespace arborfs
