// Where OpenCode keeps sessions: a database, or a tree of JSON files. In both, a session has a head, and messages in
// the order of their creation, each with its parts. Thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/json/document.h"
#include "core/store/store.h"
#include "core/store/store_parts.h"

namespace arborfs::opencode {

/// A state of a session: equal only if nothing that it covers was written in between.
struct Stamp {
  std::int64_t time_ns = 0;   // of the last write, since 1970
  std::uint64_t version = 0;  // a hash
  bool operator==(const Stamp&) const = default;
};

/// Nanoseconds of a time that a database gives in milliseconds; the nearest that can be represented.
constexpr std::int64_t nanos_of_millis(std::int64_t millis) {
  constexpr std::int64_t kNanosPerMilli = 1'000'000;
  return std::clamp(millis, INT64_MIN / kNanosPerMilli, INT64_MAX / kNanosPerMilli) * kNanosPerMilli;
}

/// `head` covers what a listing reads; `whole` covers messages and parts too, and costs more.
struct Stamps {
  Stamp head;
  Stamp whole;
};

/// Without `whole` only Stamps::head is valid.
enum class Covers : std::uint8_t { head, whole };

struct SessionHead {
  std::string id;
  Stamp stamp;                // Stamps::head
  std::string metadata;       // see SessionArchive::heads; "" if it was not wanted
  bool is_linked = false;     // as FoundLog::is_linked
  std::string left_out = {};  // as FoundLog::left_out
};

/// One message: as many bytes of the session as its text has.
struct Piece {
  std::string id;          // "" for what is behind the messages
  std::uint64_t end = 0;   // the offset just past its text
  std::uint64_t hash = 0;  // of its text
};

struct WholeSession {
  Stamps stamps;
  std::string metadata;
  std::vector<Piece> pieces;
  /// The texts of the first pieces. They were composed to find the places, and most callers read the session right
  /// after they open it.
  std::string start;
};

/// If an answer was not written to for this long, its program was killed.
inline constexpr std::int64_t kAnswerAbandonedMs = std::int64_t{10} * 60 * 1000;

/// A session by the names in its LogPlace: the folder, and its id.
struct SessionName {
  std::string folder;
  std::string id;
  auto operator<=>(const SessionName&) const = default;
};

inline SessionName session_at(const LogPlace& place) {
  return {place.folder, std::string(place.stem())};
}

class SessionArchive {
 public:
  virtual ~SessionArchive() = default;
  /// Folders of sessions. Errors: not_found if the agent stores nothing there yet; those of reading.
  [[nodiscard]] virtual Result<std::vector<std::string>> folders() const = 0;
  /// The sessions of a folder, in byte order of ids. The metadata of those for which `wants` is true is
  /// `{"info":…,"project":…,"todo":[…],"diff":[…]}`; members that the agent does not keep are absent (C2).
  using Wants = std::function<bool(std::string_view id)>;
  [[nodiscard]] virtual Result<std::vector<SessionHead>> heads(const std::string& folder, const Wants& wants) const = 0;
  /// The one of a session, with its metadata. Errors: not_found if there is no such session; those of reading.
  [[nodiscard]] virtual Result<SessionHead> head(const SessionName& session) const = 0;
  [[nodiscard]] virtual Result<Stamps> stamps(const SessionName& session, Covers covers) const = 0;
  /// The whole stamps of sessions of a folder, by id; those that are gone are left out. Errors: those of reading.
  [[nodiscard]] virtual Result<std::map<std::string, Stamps>> whole_stamps(
      const std::string& folder, const std::vector<std::string>& ids) const = 0;
  [[nodiscard]] virtual Result<WholeSession> whole(const SessionName& session) const = 0;
  /// The texts of messages (EntryText), one after another, until `take` returns false. Errors also: stale if a message
  /// is gone.
  using Take = std::function<bool(std::string&& text)>;
  virtual Result<void> read(const SessionName& session, std::span<const Piece> pieces, const Take& take) const = 0;
  /// As HasNativeFiles.
  [[nodiscard]] virtual Result<std::unique_ptr<const ShownFiles>> files(const SessionName& session) const = 0;
  /// True if the session's last answer has no end and was written to lately (opencode/FORMAT.md G2). User messages may
  /// wait for it.
  [[nodiscard]] virtual bool is_answering(const SessionName& session) const = 0;
  /// As in HasFaults.
  [[nodiscard]] virtual std::vector<Finding> faults_of(const SessionName& session) const = 0;
  [[nodiscard]] virtual std::vector<FileFinding> faults() const = 0;
  /// A number that changes with every write.
  [[nodiscard]] virtual Result<std::uint64_t> changes() const = 0;

  /// As in Store. `hot` are sessions that were read lately.
  [[nodiscard]] virtual std::vector<WatchedDir> watched(const std::vector<SessionName>& hot) const = 0;
  [[nodiscard]] virtual std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const = 0;
  [[nodiscard]] virtual std::string path_of(const SessionName& session) const = 0;
  /// The directory with the files of a folder. Errors: those of opening it.
  [[nodiscard]] virtual Result<Dir> dir_of(const std::string& folder) const = 0;
};

/// The sessions in OpenCode's database at this path, which need not exist (opencode/FORMAT.md B). Its tables with
/// tokens and secrets are never read. `disk` outlives the archive.
std::unique_ptr<SessionArchive> make_sqlite_archive(std::string path, Disk& disk);

/// The sessions in OpenCode's JSON files (opencode/FORMAT.md F): storage/session, message, part, todo, session_diff and
/// project. `storage` need not exist. Sessions that have been copied to one of the `databases` (A2) are left out. Files
/// with secrets are never read.
std::unique_ptr<SessionArchive> make_json_archive(std::string storage,
                                                  std::vector<std::unique_ptr<SessionArchive>> databases = {});

/// Adds a message's text to those before it.
void add_piece(WholeSession& whole, std::string_view id, std::string_view text);

/// True for one whole JSON value, with white space around it or not.
bool is_json(std::string_view text);
/// A JSON value without the white space between its tokens.
std::string without_spaces(std::string_view json);
/// Adds such a value to an object; nothing if it is no JSON value.
void add_value(json::Text& object, std::string_view key, std::string_view json);

/// Composes one entry from the rows or files in which OpenCode keeps it, `{"info":…,"parts":[…]}` as in OpenCode's own
/// export (opencode/FORMAT.md C1), line by line: the entry, then those of its sources that are not JSON, as damage.
class EntryText {
 public:
  /// `ids` are members to add at the end, such as `"id":"msg_1"`; "" for none.
  void set_info(std::string_view json, std::string_view ids);
  void add_part(std::string_view json, std::string_view ids);
  /// Lines, each with its line feed. Without a valid info there is no entry, only damage.
  [[nodiscard]] std::string take() &&;

 private:
  void add_damage(std::string_view text);
  std::string info_;
  std::string parts_;
  std::string damage_;
};

}  // namespace arborfs::opencode
