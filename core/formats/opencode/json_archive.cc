#include "core/formats/opencode/json_archive.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/words.h"
#include "core/formats/opencode/session_archive.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/os/temp_file.h"
#include "core/store/log_listing.h"
#include "core/store/stored_files.h"

namespace arborfs::opencode {

namespace {

constexpr std::string_view kJsonSuffix = ".json";
constexpr const char* kParts = "part";

constexpr std::uint64_t kLongestFile = std::uint64_t{64} << 20U;

/// True for `<id>.json`, except for dot files.
bool is_json_name(std::string_view file) {
  return file.size() > kJsonSuffix.size() && file.front() != '.' && file.ends_with(kJsonSuffix);
}

/// The id in such a name.
std::string_view id_in(std::string_view file) {
  return file.substr(0, file.size() - std::min(file.size(), kJsonSuffix.size()));
}

/// The ids of such files, and of links of such names, among the entries of a folder, in byte order.
std::vector<std::string> ids_among(const std::vector<DirEntry>& entries) {
  std::vector<std::string> ids;
  for (const DirEntry& entry : entries) {
    if ((entry.type == DT_REG || entry.type == DT_LNK) && is_json_name(entry.name)) {
      ids.emplace_back(id_in(entry.name));
    }
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

/// Also false for a file that is being written.
bool is_answer(std::string_view message) {
  return skim::member(message, "role") == "\"assistant\"";
}

bool has_end(std::string_view answer) {
  return !skim::member(skim::member(answer, "time"), "completed").empty() || !skim::member(answer, "error").empty();
}

Result<std::vector<std::string>> none_if_missing(const Error& error) {
  return error.code == Errc::not_found ? Result<std::vector<std::string>>(std::vector<std::string>()) : error;
}

/// The messages of this many recently read sessions are watched.
constexpr std::size_t kMostWatched = 16;
/// At most this many user messages wait for an answer.
constexpr std::size_t kMostWaiting = 100;

/// Collects the stats of files, for a stamp of them all.
class StampOfFiles {
 public:
  void add(const Dir& dir, std::string_view id) {
    const std::string name = file_of_id(id);
    if (const auto st = is_plain_name(name) ? dir.stat_end(name) : Result<FileStat>(Errc::not_found, "")) {
      has_other_names_ = has_other_names_ || st->links > 1;
      stamp_.time_ns = std::max(stamp_.time_ns, st->mtime_ns);
      const std::array<std::uint64_t, 3> facts{st->ino, st->size, static_cast<std::uint64_t>(st->mtime_ns)};
      const std::string_view bytes(reinterpret_cast<const char*>(facts.data()), sizeof facts);
      stamp_.version = xxh64(bytes, xxh64(name, stamp_.version));
    }
  }
  void add(const Result<Dir>& dir, std::string_view id) {
    if (dir) {
      add(*dir, id);
    }
  }
  [[nodiscard]] const Stamp& stamp() const { return stamp_; }
  /// True if one of the files has several names: hard links.
  [[nodiscard]] bool has_other_names() const { return has_other_names_; }

 private:
  Stamp stamp_;
  bool has_other_names_ = false;
};

/// The sessions that OpenCode has copied from its JSON files to databases (opencode/FORMAT.md A2). Thread-safe.
class MovedSessions {
 public:
  explicit MovedSessions(std::vector<std::unique_ptr<SessionArchive>> databases) {
    for (auto& archive : databases) {
      databases_.push_back({std::move(archive), 0, {}});
    }
  }

  /// The ids of their sessions now. A database that cannot be read has none. Reads a database only after a change.
  [[nodiscard]] std::set<std::string> ids() const {
    std::set<std::string> all;
    const std::lock_guard lock(mutex_);
    for (Known& known : databases_) {
      const auto changes = known.archive->changes();
      if (!changes || *changes != known.changes) {
        known.ids.clear();
        const auto folders = known.archive->folders();
        auto heads =
            folders ? known.archive->heads(folders->front(), {}) : Result<std::vector<SessionHead>>(folders.error());
        for (SessionHead& head : heads ? *heads : std::vector<SessionHead>()) {
          known.ids.insert(std::move(head.id));
        }
        known.changes = changes && heads ? *changes : 0;
      }
      all.insert(known.ids.begin(), known.ids.end());
    }
    return all;
  }

 private:
  /// A database and its ids when they were read.
  struct Known {
    std::unique_ptr<SessionArchive> archive;
    std::uint64_t changes = 0;  // SessionArchive::changes
    std::set<std::string> ids;
  };
  mutable std::mutex mutex_;
  mutable std::vector<Known> databases_;  // guarded by mutex_
};

/// The files of one session, in a tree as they are there (opencode/FORMAT.md F1). Parts of removed messages, which
/// remain on disk, are left out.
class JsonFiles final : public StoredFiles {
 public:
  /// `storage` is the folder of the store.
  JsonFiles(Dir storage, const SessionName& session)
      : StoredFiles(std::move(storage), {"session/" + session.folder + "/" + file_of_id(session.id),
                                         "project/" + file_of_id(session.folder), "message/" + session.id, kParts,
                                         "todo/" + file_of_id(session.id), "session_diff/" + file_of_id(session.id)}),
        messages_("message/" + session.id) {}

 protected:
  /// A message's parts are in a folder named after its id, next to those of all other messages.
  [[nodiscard]] std::optional<std::vector<std::string>> names_in(const std::string& folder) const override {
    return folder == kParts ? ids_among(entries_of(messages_)) : StoredFiles::names_in(folder);
  }

  [[nodiscard]] bool shows(const std::string& folder, const std::string& name) const override {
    return folder == kParts ? is_there(messages_ + "/" + file_of_id(name)) : StoredFiles::shows(folder, name);
  }

 private:
  const std::string messages_;  // the folder of the session's messages
};

Result<Dir> open_in(const std::string& storage, const std::string& kind, const std::string& name) {
  const auto dir = Dir::follow_below_root(storage, kind);
  return dir ? dir->follow(name) : Result<Dir>(dir.error());
}

/// Why the file is not a JSON object; nothing if it is one.
std::optional<std::string> fault_of(const Dir& dir, const std::string& id) {
  const auto file = File::follow_in(dir, file_of_id(id));
  if (!file) {
    return "cannot be read: " + file.error().message;
  }
  const std::string text = text_in(dir, id);
  json::Document document;
  if (json::parse(text, document) && document.IsObject()) {
    return std::nullopt;
  }
  return text.empty() ? "is empty" : "is not a JSON object (" + counted(text.size(), "byte") + ")";
}

/// Files of a session that are not JSON objects, and prompts without a part.
class SessionFaults {
 public:
  SessionFaults(const std::string& storage, const SessionName& session) : storage_(storage) {
    if (const auto folder = open_in(storage, "session", session.folder)) {
      look_at(*folder, "session/" + session.folder, session.id);
    }
    const auto messages = open_in(storage, "message", session.id);
    for (const std::string& id : ids_in(messages)) {
      look_at_message(*messages, "message/" + session.id, id);
    }
  }
  [[nodiscard]] std::vector<Finding> take() && { return std::move(found_); }

 private:
  /// False if it is not a JSON object.
  bool look_at(const Dir& dir, const std::string& place, const std::string& id) {
    const auto fault = fault_of(dir, id);
    if (fault) {
      found_.push_back({"malformed_file", "the file " + place + "/" + file_of_id(id) + " " + *fault});
    }
    return !fault;
  }

  void look_at_message(const Dir& messages, const std::string& place, const std::string& id) {
    const bool is_whole = look_at(messages, place, id);
    const auto parts = open_in(storage_, "part", id);
    const auto ids = ids_in(parts);
    for (const std::string& part : ids) {
      look_at(*parts, "part/" + id, part);
    }
    json::Document message;
    if (is_whole && ids.empty() && json::parse(text_in(messages, id), message) &&
        json::is_string(json::member(message, "role"), "user")) {
      found_.push_back({"missing_parts", "the prompt " + id + " has no parts, so its text is unknown"});
    }
  }

  const std::string& storage_;
  std::vector<Finding> found_;
};

/// Files of projects that are not JSON objects.
std::vector<FileFinding> faults_of_projects(const std::string& storage) {
  std::vector<FileFinding> found;
  const auto projects = Dir::follow_below_root(storage, "project");
  for (const std::string& id : ids_in(projects)) {
    if (const auto fault = fault_of(*projects, id)) {
      found.push_back({storage + "/project/" + file_of_id(id), {"malformed_file", "the file of a project " + *fault}});
    }
  }
  return found;
}

class JsonArchive final : public SessionArchive {
 public:
  JsonArchive(std::string storage, std::vector<std::unique_ptr<SessionArchive>> databases)
      : storage_(std::move(storage)), moved_(std::move(databases)) {}

  [[nodiscard]] Result<std::vector<std::string>> folders() const override {
    ASSIGN_OR_RETURN(const auto dir, Dir::follow_below_root(storage_, "session"));
    ASSIGN_OR_RETURN(auto entries, dir.list());
    std::vector<std::string> found;
    for (DirEntry& entry : entries) {
      if (entry.name.front() != '.' && may_be_folder(dir, entry)) {
        found.push_back(std::move(entry.name));
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  [[nodiscard]] Result<std::vector<SessionHead>> heads(const std::string& folder, const Wants& wants) const override {
    ASSIGN_OR_RETURN(const auto dir, dir_of(folder));
    ASSIGN_OR_RETURN(const auto entries, dir.list());
    const HeadDirs dirs(*this);
    const std::set<std::string> moved = moved_.ids();
    std::vector<SessionHead> found;
    for (const DirEntry& entry : entries) {
      auto head = look_at(dir, entry);
      if (!head) {
        continue;
      }
      const StampOfFiles files = head->left_out.empty() ? files_of_head(dirs, dir, head->id) : StampOfFiles();
      const bool may_be_second = head->left_out.empty() && (head->is_linked || files.has_other_names());
      if (may_be_second && has_better_name(dir, {folder, head->id}, head->is_linked)) {
        head->left_out = "another name of a session's log";
      }
      if (head->left_out.empty() && moved.contains(head->id)) {
        head->left_out = "moved to OpenCode's database";
      }
      if (head->left_out.empty()) {
        head->stamp = files.stamp();
        head->metadata = wants && wants(head->id) ? metadata_of(dirs, dir, {folder, head->id}) : "";
      }
      found.push_back(*std::move(head));
    }
    std::sort(found.begin(), found.end(), [](const SessionHead& a, const SessionHead& b) { return a.id < b.id; });
    return found;
  }

  [[nodiscard]] Result<SessionHead> head(const SessionName& session) const override {
    ASSIGN_OR_RETURN(const auto dir, dir_of(session.folder));
    RETURN_IF_ERROR(stat_log(dir, file_of_id(session.id)));
    const HeadDirs dirs(*this);
    return SessionHead{session.id, files_of_head(dirs, dir, session.id).stamp(), metadata_of(dirs, dir, session)};
  }

  [[nodiscard]] Result<Stamps> stamps(const SessionName& session, Covers covers) const override {
    ASSIGN_OR_RETURN(const auto dir, dir_of(session.folder));
    RETURN_IF_ERROR(stat_log(dir, file_of_id(session.id)));
    const Stamp head = files_of_head(HeadDirs(*this), dir, session.id).stamp();
    if (covers == Covers::head) {
      return Stamps{head, {}};
    }
    StampOfFiles content;
    const auto messages = open_in("message", session.id);
    const auto parts = Dir::follow_below_root(storage_, "part");
    for (const std::string& message : ids_in(messages)) {
      content.add(messages, message);
      const auto parts_of = parts ? parts->follow(message) : Result<Dir>(parts.error());
      for (const std::string& part : ids_in(parts_of)) {
        content.add(parts_of, part);
      }
    }
    const Stamp& whole = content.stamp();
    return Stamps{head, {std::max(head.time_ns, whole.time_ns), head.version * 31 + whole.version}};
  }

  [[nodiscard]] Result<std::map<std::string, Stamps>> whole_stamps(const std::string& folder,
                                                                   const std::vector<std::string>& ids) const override {
    std::map<std::string, Stamps> found;
    for (const std::string& id : ids) {
      if (const auto now = stamps({folder, id}, Covers::whole)) {
        found[id] = *now;
      }
    }
    return found;
  }

  [[nodiscard]] Result<WholeSession> whole(const SessionName& session) const override {
    WholeSession found;
    ASSIGN_OR_RETURN(found.stamps, stamps(session, Covers::whole));
    ASSIGN_OR_RETURN(const auto dir, dir_of(session.folder));
    found.metadata = metadata_of(HeadDirs(*this), dir, session);
    const auto messages = open_in("message", session.id);
    std::vector<std::pair<double, std::string>> order;
    for (std::string& id : ids_in(messages)) {
      order.emplace_back(created_in(text_in(messages, id)), std::move(id));
    }
    std::sort(order.begin(), order.end());
    for (const auto& [time, id] : order) {
      add_piece(found, id, entry_of(messages, id));
    }
    return found;
  }

  Result<void> read(const SessionName& session, std::span<const Piece> pieces, const Take& take) const override {
    const auto messages = open_in("message", session.id);
    for (const Piece& piece : pieces) {
      if (!take(entry_of(messages, piece.id))) {
        break;
      }
    }
    return {};
  }

  [[nodiscard]] Result<std::unique_ptr<const ShownFiles>> files(const SessionName& session) const override {
    ASSIGN_OR_RETURN(auto storage, Dir::open_root(storage_));
    return std::unique_ptr<const ShownFiles>(std::make_unique<const JsonFiles>(std::move(storage), session));
  }

  /// Checks the last messages, back to an answer.
  [[nodiscard]] bool is_answering(const SessionName& session) const override {
    const auto messages = open_in("message", session.id);
    auto ids = ids_in(messages);
    for (std::size_t i = 0; i < kMostWaiting && !ids.empty(); ++i, ids.pop_back()) {
      const std::string message = text_in(messages, ids.back());
      if (is_answer(message)) {
        return !has_end(message) && was_written_lately(messages, ids.back());
      }
    }
    return false;
  }

  /// A file does not show changes to other files.
  [[nodiscard]] Result<std::uint64_t> changes() const override { return ++changes_; }

  /// The folders of sessions, those of recently read messages, and those of the parts of the last message of each
  /// session.
  [[nodiscard]] std::vector<WatchedDir> watched(const std::vector<SessionName>& hot) const override {
    std::vector<WatchedDir> dirs;
    if (const auto all = folders()) {
      for (const std::string& folder : *all) {
        dirs.push_back({storage_ + "/session/" + folder, folder, false});
      }
    }
    for (std::size_t i = 0; i < std::min(hot.size(), kMostWatched); ++i) {
      if (!is_plain_name(hot[i].id)) {
        continue;
      }
      dirs.push_back({storage_ + "/message/" + hot[i].id, hot[i].folder, false});
      if (const auto ids = ids_in(open_in("message", hot[i].id)); !ids.empty()) {
        dirs.push_back({storage_ + "/part/" + ids.back(), hot[i].folder, false});
      }
    }
    return dirs;
  }

  [[nodiscard]] std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const override {
    return is_json_name(file) ? std::optional(LogPlace{folder, file}) : std::nullopt;
  }
  [[nodiscard]] std::string path_of(const SessionName& session) const override {
    return storage_ + "/session/" + session.folder + "/" + file_of_id(session.id);
  }
  [[nodiscard]] Result<Dir> dir_of(const std::string& folder) const override { return open_in("session", folder); }
  [[nodiscard]] std::vector<Finding> faults_of(const SessionName& session) const override {
    return SessionFaults(storage_, session).take();
  }
  [[nodiscard]] std::vector<FileFinding> faults() const override {
    auto found = faults_of_projects(storage_);
    auto left = leftovers_in(storage_);
    std::move(left.begin(), left.end(), std::back_inserter(found));
    return found;
  }

 private:
  /// A session's file; nothing for other files.
  static std::optional<SessionHead> look_at(const Dir& dir, const DirEntry& entry) {
    if (!is_json_name(entry.name)) {
      return std::nullopt;
    }
    SessionHead head{std::string(id_in(entry.name)), {}, "", entry.type == DT_LNK || dir.is_linked(), ""};
    const auto st = entry.type == DT_LNK ? dir.stat_end(entry.name) : Result<FileStat>(FileStat());
    if (!st) {
      head.left_out = st.error().message;
    } else if (entry.type != DT_REG && (entry.type != DT_LNK || !S_ISREG(st->mode))) {
      head.left_out = entry.type == DT_LNK ? "a link to " + why_no_file(static_cast<unsigned char>(IFTODT(st->mode)))
                                           : why_no_file(entry.type);
    }
    return head;
  }

  /// True if the file of a session has a name to which no link leads, or an earlier one: the stat of a session is not
  /// that of its file, so the catalog does not see that they are the same.
  [[nodiscard]] bool has_better_name(const Dir& dir, const SessionName& session, bool is_session_linked) const {
    const auto file = dir.stat_end(file_of_id(session.id));
    const auto names = file ? folders() : Result<std::vector<std::string>>(file.error());
    for (const std::string& folder : names ? *names : std::vector<std::string>()) {
      const auto other = dir_of(folder);
      const auto entries = other ? other->list() : Result<std::vector<DirEntry>>(other.error());
      for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
        const bool is_linked = other->is_linked() || entry.type == DT_LNK;
        const SessionName name{folder, std::string(id_in(entry.name))};
        const auto st = is_json_name(entry.name) && std::tie(is_linked, name) < std::tie(is_session_linked, session)
                            ? other->stat_end(entry.name)
                            : Result<FileStat>(Errc::not_found, "");
        if (st && st->same_file(*file)) {
          return true;
        }
      }
    }
    return false;
  }

  [[nodiscard]] bool was_written_lately(const Result<Dir>& messages, const std::string& id) const {
    StampOfFiles written;
    written.add(messages, id);
    const auto parts = open_in("part", id);
    for (const std::string& part : ids_in(parts)) {
      written.add(parts, part);
    }
    return now_ns() - written.stamp().time_ns < kAnswerAbandonedMs * 1'000'000;
  }

  /// The folders of the files that belong to a session's head.
  struct HeadDirs {
    explicit HeadDirs(const JsonArchive& archive)
        : todo(Dir::follow_below_root(archive.storage_, "todo")),
          diff(Dir::follow_below_root(archive.storage_, "session_diff")),
          project(Dir::follow_below_root(archive.storage_, "project")) {}
    Result<Dir> todo;
    Result<Dir> diff;
    Result<Dir> project;
  };

  [[nodiscard]] Result<Dir> open_in(const std::string& kind, const std::string& name) const {
    ASSIGN_OR_RETURN(const auto dir, Dir::follow_below_root(storage_, kind));
    return is_plain_name(name) ? dir.follow(name) : Result<Dir>(Errc::not_found, "no such folder");
  }

  static StampOfFiles files_of_head(const HeadDirs& dirs, const Dir& dir, const std::string& id) {
    StampOfFiles files;
    files.add(dir, id);
    files.add(dirs.todo, id);
    files.add(dirs.diff, id);
    return files;
  }

  static std::string metadata_of(const HeadDirs& dirs, const Dir& dir, const SessionName& session) {
    json::Text metadata = json::Text::object();
    const auto add = [&](std::string_view key, const std::string& text) { add_value(metadata, key, text); };
    add("info", text_in(dir, session.id));
    add("project", text_in(dirs.project, session.folder));
    add("todo", text_in(dirs.todo, session.id));
    add("diff", text_in(dirs.diff, session.id));
    return metadata.str();
  }

  [[nodiscard]] std::string entry_of(const Result<Dir>& messages, const std::string& id) const {
    EntryText entry;
    entry.set_info(text_in(messages, id), "");
    const auto parts = open_in("part", id);
    for (const std::string& part : ids_in(parts)) {
      entry.add_part(text_in(parts, part), "");
    }
    return std::move(entry).take();
  }

  const std::string storage_;
  const MovedSessions moved_;
  mutable std::atomic<std::uint64_t> changes_{0};
};

constexpr std::string_view kNoteBefore = ".arborfs-";
constexpr std::string_view kNoteAfter = ".fork";

}  // namespace

std::string file_of_id(std::string_view id) {
  return std::string(id) + std::string(kJsonSuffix);
}

std::vector<std::string> ids_in(const Result<Dir>& dir) {
  const auto entries = dir ? dir->list() : Result<std::vector<DirEntry>>(dir.error());
  return entries ? ids_among(*entries) : std::vector<std::string>();
}

Result<std::vector<std::string>> all_ids_in(const Result<Dir>& dir) {
  return dir ? all_ids_in(*dir) : none_if_missing(dir.error());
}

Result<std::vector<std::string>> all_ids_in(const Dir& dir) {
  const auto entries = dir.list();
  return entries ? Result<std::vector<std::string>>(ids_among(*entries)) : none_if_missing(entries.error());
}

Result<std::string> whole_text_in(const Dir& dir, std::string_view id) {
  const std::string name = file_of_id(id);
  if (!is_plain_name(name)) {
    return Error{Errc::not_found, "no such file"};
  }
  FileStat st;
  ASSIGN_OR_RETURN(const auto file, File::follow_in(dir, name, &st));
  if (st.size > kLongestFile) {
    return Error{Errc::too_large, "the file " + name + " is longer than 64 MiB"};
  }
  return file.read(0, st.size);
}

std::string text_in(const Dir& dir, std::string_view id) {
  auto text = whole_text_in(dir, id);
  return text ? *std::move(text) : "";
}

std::string text_in(const Result<Dir>& dir, std::string_view id) {
  return dir ? text_in(*dir, id) : "";
}

double created_in(std::string_view message) {
  const std::string_view created = skim::member(skim::member(message, "time"), "created");
  double time = 0;
  const auto [end, failed] = std::from_chars(created.data(), created.data() + created.size(), time);
  return !created.empty() && failed == std::errc() ? time : std::numeric_limits<double>::infinity();
}

std::unique_ptr<SessionArchive> make_json_archive(std::string storage,
                                                  std::vector<std::unique_ptr<SessionArchive>> databases) {
  return std::make_unique<JsonArchive>(std::move(storage), std::move(databases));
}

bool is_draft_name(std::string_view name) {
  return name.starts_with('.') && name.ends_with(".json.tmp");
}

std::string fork_note_name(std::string_view session) {
  return std::string(kNoteBefore) + std::string(session) + std::string(kNoteAfter);
}

std::vector<std::string> killed_forks_in(const Dir& storage) {
  const auto entries = storage.list();
  std::vector<std::string> found;
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    const bool is_note =
        entry.type == DT_REG && entry.name.starts_with(kNoteBefore) && entry.name.ends_with(kNoteAfter);
    const auto note = is_note ? File::open_in(storage, entry.name) : Result<File>(Errc::not_found, "");
    if (note && ::flock(note->fd(), LOCK_EX | LOCK_NB) == 0) {
      found.push_back(entry.name);
    }
  }
  return found;
}

std::vector<FileFinding> leftovers_in(const std::string& storage) {
  std::vector<FileFinding> found;
  const auto look_in = [&](const Dir& folder, const std::string& path) {
    for (const std::string& name : leftover_files(folder, is_draft_name)) {
      Finding left{"leftover_temporary", "the temporary file of an unfinished write by arborfs"};
      left.leftover = path + "/" + name;
      found.push_back({left.leftover, left});
    }
  };
  const auto root = Dir::open_root(storage);
  for (const std::string& note : root ? killed_forks_in(*root) : std::vector<std::string>()) {
    found.push_back({storage + "/" + note, {"unfinished_fork", "the note of an unfinished fork by arborfs"}});
  }
  for (const std::string kind : {"project", "session", "message", "part", "session_diff"}) {
    const auto folder = Dir::open_below_root(storage, kind);
    const auto entries = folder ? folder->list() : Result<std::vector<DirEntry>>(folder.error());
    if (!entries) {
      continue;
    }
    look_in(*folder, storage + "/" + kind);
    for (const DirEntry& entry : *entries) {
      const auto below = entry.type == DT_DIR ? folder->open_in(entry.name) : Result<Dir>(Errc::not_found, "");
      if (below) {
        look_in(*below, storage + "/" + kind + "/" + entry.name);
      }
    }
  }
  return found;
}

}  // namespace arborfs::opencode
