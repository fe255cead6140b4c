#include "core/formats/opencode/adopted_session.h"

#include <dirent.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/formats/opencode/json_archive.h"
#include "core/formats/opencode/session_rows.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/write/new_file.h"

namespace arborfs::opencode {
namespace {

using PartKind = TurnPart::Kind;

std::string spelled(std::string_view text) {
  return json::stringify_string(text);
}

std::string spelled_or_unknown(const std::string& text) {
  return spelled(text.empty() ? "unknown" : std::string_view(text));
}

class Builder {
 public:
  Builder(const Conversation& conversation, AsText& counts)
      : conversation_(conversation), counts_(counts), now_ms_(now_ms()) {}

  AdoptedSession build() {
    session_.id = new_session_id(now_ms_);
    session_.slug = "fork-" + session_.id.substr(session_.id.size() - kSlugLetters);
    session_.created_ms = now_ms_;
    session_.title = conversation_.title.empty() ? "New session - " + json::iso_time(now_ms_) : conversation_.title;
    const auto& turns = conversation_.turns;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (turns[i].speaker == Turn::Speaker::user) {
        add_prompt(turns[i]);
      } else if (turns[i].speaker == Turn::Speaker::assistant) {
        const bool has_results = i + 1 < turns.size() && turns[i + 1].speaker == Turn::Speaker::tool;
        add_answer(turns[i], has_results ? &turns[i + 1] : nullptr);
      }
    }
    return std::move(session_);
  }

 private:
  static constexpr std::size_t kSlugLetters = 8;
  static constexpr std::uint32_t kMostInOneMs = 4095;  // that an id can count

  /// Ids sort in the order in which they are generated.
  std::string next_id(std::string_view kind) {
    if (count_ == kMostInOneMs) {
      ++id_ms_;
      count_ = 0;
    }
    return new_id(kind, now_ms_ + id_ms_, ++count_);
  }

  MessageRecords& begin_message(const Turn& turn) {
    MessageRecords message;
    message.info.id = next_id("msg");
    message.time_ms = turn.time_ms;
    session_.messages.push_back(std::move(message));
    return session_.messages.back();
  }

  void add_part(MessageRecords& message, std::string members) {
    message.parts.push_back({next_id("prt"), std::move(members)});
  }

  /// Without a model: the program goes on with the one of its configuration, and fails with one that this lacks.
  void add_prompt(const Turn& turn) {
    MessageRecords& message = begin_message(turn);
    message.info.members =
        R"("role":"user","time":{"created":)" + std::to_string(turn.time_ms) + R"(},"agent":"build")";
    for (const TurnPart& part : turn.parts) {
      add_part(message, part.kind == PartKind::image ? image_members(part.images.front())
                                                     : R"("type":"text","text":)" + spelled(part.text));
    }
    last_prompt_ = message.info.id;
  }

  void add_answer(const Turn& turn, const Turn* results) {
    MessageRecords& message = begin_message(turn);
    const std::int64_t end_ms = results == nullptr ? turn.time_ms : results->time_ms;
    message.info.members =
        R"("role":"assistant","time":{"created":)" + std::to_string(turn.time_ms) + R"(,"completed":)" +
        std::to_string(end_ms) + R"(},"parentID":)" + spelled(last_prompt_.empty() ? message.info.id : last_prompt_) +
        R"(,"modelID":)" + spelled_or_unknown(turn.model) + R"(,"providerID":)" + spelled_or_unknown(turn.provider) +
        R"(,"mode":"build","agent":"build","path":{"cwd":)" + spelled(conversation_.cwd) + R"(,"root":)" +
        spelled(conversation_.cwd) +
        R"(},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"finish":)" +
        (results == nullptr ? R"("stop")" : R"("tool-calls")");
    for (const TurnPart& part : turn.parts) {
      if (part.kind == PartKind::tool_call) {
        add_tool(message, part, *results, turn.time_ms);
      } else {
        const std::string time = time_members(turn.time_ms, turn.time_ms);
        add_part(message, R"("type":)" + spelled(part.kind == PartKind::reasoning ? "reasoning" : "text") +
                              R"(,"text":)" + spelled(part.text) + R"(,"time":)" + time);
      }
    }
  }

  static std::string time_members(std::int64_t start_ms, std::int64_t end_ms) {
    return R"({"start":)" + std::to_string(start_ms) + R"(,"end":)" + std::to_string(end_ms) + "}";
  }

  static std::string image_members(const TurnImage& image) {
    return R"("type":"file","mime":)" + spelled(image.media_type) + R"(,"url":)" +
           spelled("data:" + image.media_type + ";base64," + image.base64);
  }

  void add_tool(MessageRecords& message, const TurnPart& call, const Turn& results, std::int64_t start_ms) {
    const auto result = std::find_if(results.parts.begin(), results.parts.end(),
                                     [&](const TurnPart& part) { return part.call_id == call.call_id; });
    const std::string id = next_id("prt");
    std::string state =
        R"({"status":)" + spelled(result->is_error ? "error" : "completed") + R"(,"input":)" + call.text;
    if (result->is_error) {
      state += R"(,"error":)" + spelled(result_as_text(*result, counts_));
    } else {
      state += R"(,"output":)" + spelled(result->text) + R"(,"title":)" + spelled(call.tool) + R"(,"metadata":{})";
    }
    state += R"(,"time":)" + time_members(start_ms, std::max(start_ms, results.time_ms));
    if (!result->is_error && !result->images.empty()) {
      state += R"(,"attachments":[)" + attachments_of(*result, message.info.id) + "]";
    }
    message.parts.push_back({id, R"("type":"tool","callID":)" + spelled(call.call_id) + R"(,"tool":)" +
                                     spelled(call.tool) + R"(,"state":)" + state + "}"});
  }

  std::string attachments_of(const TurnPart& result, const std::string& message) {
    std::string files;
    for (const TurnImage& image : result.images) {
      files += (files.empty() ? "" : ",") + std::string(R"({"id":)") + spelled(next_id("prt")) + R"(,"sessionID":)" +
               spelled(session_.id) + R"(,"messageID":)" + spelled(message) + "," + image_members(image) + "}";
    }
    return files;
  }

  const Conversation& conversation_;
  AsText& counts_;
  const std::int64_t now_ms_;
  std::int64_t id_ms_ = 0;  // offset that makes the time in ids later
  std::uint32_t count_ = 0;
  AdoptedSession session_;
  std::string last_prompt_;
};

using sqlite::Connection;
/// The first column of the first row; "" if there is none.
template <class... Values>
Result<std::string> first_text(const Connection& database, std::string_view sql, const Values&... values) {
  ASSIGN_OR_RETURN(auto row, database.query(sql, values...));
  ASSIGN_OR_RETURN(const bool has_row, row.step());
  return has_row ? std::string(row.text(0)) : std::string();
}

/// The version of the program that used the store last.
Result<std::string> last_version(const Connection& database) {
  ASSIGN_OR_RETURN(auto version,
                   first_text(database, "SELECT version FROM session ORDER BY time_updated DESC, id LIMIT 1"));
  return version.empty() ? std::string(kUnknownVersion) : std::move(version);
}

/// The project of a working directory: the one with the longest folder above it, else the one for all others, which is
/// created if it is missing (opencode/FORMAT.md G5).
Result<std::string> project_of(const Connection& database, const std::string& cwd, std::int64_t now_ms) {
  ASSIGN_OR_RETURN(auto found, first_text(database,
                                          "SELECT id FROM project WHERE id <> 'global' AND (worktree = ?1 OR "
                                          "substr(?1, 1, length(worktree) + 1) = worktree || '/') "
                                          "ORDER BY length(worktree) DESC, id LIMIT 1",
                                          cwd));
  if (!found.empty()) {
    return found;
  }
  RETURN_IF_ERROR(
      database.execute("INSERT OR IGNORE INTO project(id, worktree, time_created, time_updated, sandboxes) "
                       "VALUES('global', '/', ?1, ?1, '[]')",
                       now_ms));
  return std::string("global");
}

bool is_at_or_below(std::string_view path, std::string_view folder) {
  return path == folder || (path.starts_with(folder) && path.substr(folder.size()).starts_with('/'));
}

/// The project with the longest folder above a working directory, else `global` (opencode/FORMAT.md G5).
std::string project_in(const std::string& storage, const std::string& cwd) {
  std::string found(kGlobal);
  std::size_t longest = 0;
  const auto folder = Dir::open_below_root(storage, std::string(kProjects));
  const auto entries = folder ? folder->list() : Result<std::vector<DirEntry>>(folder.error());
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    const auto file = File::open_in(*folder, entry.name);
    const auto text = file ? file->read(0, kLongestProject) : Result<std::string>(file.error());
    json::Document project;
    if (!text || !json::parse(*text, project)) {
      continue;
    }
    const auto id = json::string_member(project, "id");
    const auto worktree = json::string_member(project, "worktree");
    if (id && worktree && is_plain_name(*id) && worktree->size() > longest && is_at_or_below(cwd, *worktree)) {
      found = *id;
      longest = worktree->size();
    }
  }
  return found;
}

std::string time_json(std::int64_t created_ms) {
  return R"({"created":)" + std::to_string(created_ms) + R"(,"updated":)" + std::to_string(created_ms) + "}";
}

Result<void> write_global_project(FileBatch& files, const std::string& storage, std::int64_t created_ms) {
  const auto folder = Dir::open_below_root(storage, std::string(kProjects));
  if (folder && folder->stat("global.json")) {
    return {};
  }
  auto written = files.write({std::string(kProjects)}, "global.json",
                             R"({"id":"global","worktree":"/","sandboxes":[],"time":)" + time_json(created_ms) + "}");
  const bool is_there = !written && written.error().code == Errc::already_exists;  // OpenCode created it meanwhile
  return is_there ? Result<void>() : written;
}

std::string session_json_of(const AdoptedSession& session, const std::string& project, const std::string& cwd) {
  return R"({"id":)" + spelled(session.id) + R"(,"slug":)" + spelled(session.slug) + R"(,"version":)" +
         spelled(kUnknownVersion) + R"(,"projectID":)" + spelled(project) + R"(,"directory":)" + spelled(cwd) +
         R"(,"title":)" + spelled(session.title) + R"(,"time":)" + time_json(session.created_ms) + "}";
}

constexpr mode_t kPrivate = 0600;
constexpr std::uint64_t kLongestNote = std::uint64_t{64} << 20U;

std::string text_of(const AdoptedSession& session) {
  std::string text = session.id + "\n";
  for (const MessageRecords& message : session.messages) {
    text += message.info.id + "\n";
  }
  return text;
}

/// The ids in a note; none if it was not written whole, and then nothing of the session was written either.
std::vector<std::string> ids_of(std::string_view text) {
  std::vector<std::string> ids;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string id(text.substr(0, end));
    if (!is_plain_name(id) || !id.starts_with(ids.empty() ? "ses_" : "msg_")) {
      return {};
    }
    ids.push_back(id);
    text.remove_prefix(end + 1);
  }
  return ids;
}

/// Removes a folder that only the killed writer knew, with its files.
Result<void> remove_own_folder(Disk& disk, const StorageFolder& storage, const std::string& kind,
                               const std::string& name) {
  const auto parent = storage.folder(kind);
  const auto folder = parent ? parent->open_in(name) : Result<Dir>(parent.error());
  if (!folder) {
    return folder.error().code == Errc::not_found ? Result<void>() : folder.error();
  }
  ASSIGN_OR_RETURN(const auto entries, folder->list());
  for (const DirEntry& entry : entries) {
    RETURN_IF_ERROR(entry.type == DT_REG ? disk.remove(*folder, entry.name) : Result<void>());
  }
  return disk.remove_folder(*parent, name);
}

Result<void> clear_fork(Disk& disk, const StorageFolder& storage, const std::string& name) {
  ASSIGN_OR_RETURN(const auto note, File::open_in(storage.root(), name));
  if (::flock(note.fd(), LOCK_EX | LOCK_NB) != 0) {
    return {};  // its writer lives
  }
  ASSIGN_OR_RETURN(const auto text, note.read(0, kLongestNote));
  const auto ids = ids_of(text);
  if (!ids.empty()) {
    ASSIGN_OR_RETURN(const bool is_complete, storage.has_session(ids.front()));
    for (std::size_t i = 1; i < ids.size() && !is_complete; ++i) {
      RETURN_IF_ERROR(remove_own_folder(disk, storage, "part", ids[i]));
    }
    RETURN_IF_ERROR(is_complete ? Result<void>() : remove_own_folder(disk, storage, "message", ids.front()));
  }
  return disk.remove(storage.root(), name);
}

}  // namespace

AdoptedSession adopted_session(const Conversation& conversation, AsText& counts) {
  return Builder(conversation, counts).build();
}

Result<std::string> adopt_in_database(const std::string& database, sqlite::Transaction::Sync sync,
                                      const Conversation& conversation, AsText& counts) {
  ASSIGN_OR_RETURN(const auto change, sqlite::Transaction::begin(database, sync));
  const Connection& connection = change.connection();
  ASSIGN_OR_RETURN(const auto version, last_version(connection));
  const AdoptedSession session = adopted_session(conversation, counts);
  ASSIGN_OR_RETURN(const auto project, project_of(connection, conversation.cwd, session.created_ms));
  RETURN_IF_ERROR(connection.execute(
      "INSERT INTO session(id, project_id, slug, directory, title, version, time_created, "
      "time_updated) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
      session.id, project, session.slug, conversation.cwd, session.title, version, session.created_ms));
  for (const MessageRecords& message : session.messages) {
    RETURN_IF_ERROR(insert_message(connection, session.id, message));
  }
  RETURN_IF_ERROR(change.commit());
  return session.id;
}

Result<AdoptedPlace> adopt_in_files(Disk& disk, const std::string& storage, const Conversation& conversation, bool sync,
                                    AsText& counts) {
  const AdoptedSession session = adopted_session(conversation, counts);
  const std::string project = project_in(storage, conversation.cwd);
  ASSIGN_OR_RETURN(const auto note, ForkNote::make(disk, storage, session, sync));
  FileBatch files(disk, storage, conversation.permissions, sync);
  RETURN_IF_ERROR(project == kGlobal ? write_global_project(files, storage, session.created_ms) : Result<void>());
  for (const MessageRecords& message : session.messages) {
    RETURN_IF_ERROR(files.write(session.id, message, FileBatch::Layout::compact));
  }
  RETURN_IF_ERROR(
      files.write({"session", project}, session.id + ".json", session_json_of(session, project, conversation.cwd)));
  files.keep();
  return AdoptedPlace{project, session.id};
}

Result<ForkNote> ForkNote::make(Disk& disk, const std::string& storage, const AdoptedSession& session, bool sync) {
  ASSIGN_OR_RETURN(const auto locked, StorageFolder::lock(storage));
  clear_killed_forks(disk, locked);
  const std::string name = fork_note_name(session.id);
  ASSIGN_OR_RETURN(auto fd, disk.create(locked.root(), name, kPrivate));
  const auto fill = [&]() -> Result<void> {
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      return error_from_errno(errno, "cannot lock the note of a fork");
    }
    RETURN_IF_ERROR(write_all(disk, fd.get(), text_of(session)));
    RETURN_IF_ERROR(sync ? disk.sync(fd.get()) : Result<void>());
    return sync ? disk.sync_folder(locked.root()) : Result<void>();
  };
  if (auto done = fill(); !done) {
    static_cast<void>(disk.remove(locked.root(), name));
    return done.error();
  }
  return ForkNote(disk, storage, name, std::move(fd));
}

ForkNote::ForkNote(ForkNote&& other) noexcept
    : disk_(other.disk_),
      storage_(other.storage_),
      name_(std::exchange(other.name_, "")),
      lock_(std::move(other.lock_)) {}

ForkNote::~ForkNote() {
  if (name_.empty()) {
    return;
  }
  lock_ = UniqueFd();
  if (const auto storage = StorageFolder::lock(storage_)) {
    static_cast<void>(clear_fork(disk_, *storage, name_));  // the next writer tries again
  }
}

void clear_killed_forks(Disk& disk, const StorageFolder& storage) {
  for (const std::string& note : killed_forks_in(storage.root())) {
    static_cast<void>(clear_fork(disk, storage, note));  // the next writer tries again
  }
}

}  // namespace arborfs::opencode
