// Changes of sessions in OpenCode's JSON files (opencode/FORMAT.md F). Each file is written under a temporary name that
// OpenCode ignores, and renamed: parts before their message, the message before the session. Processes of arborfs take
// turns; OpenCode takes no lock, so a file that it wrote meanwhile is read again. Threads: any.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/formats/opencode/adopted_session.h"
#include "core/formats/opencode/belongings.h"
#include "core/formats/opencode/json_archive.h"
#include "core/formats/opencode/new_message.h"
#include "core/formats/opencode/storage_folder.h"
#include "core/formats/opencode/writer.h"
#include "core/json/change_member.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"

namespace arborfs::opencode {
namespace {

/// How often a session's file is read again because OpenCode wrote it meanwhile.
constexpr int kMostReads = 5;

/// The file of a session as it was read.
class SessionFile {
 public:
  static Result<SessionFile> read(const StorageFolder& storage, const SessionName& session) {
    SessionFile file;
    file.below_ = "/session/" + session.folder + "/" + file_of_id(session.id);
    ASSIGN_OR_RETURN(auto folder, storage.folder("session", session.folder));
    file.folder_ = std::move(folder);
    file.name_ = file_of_id(session.id);
    const auto seen = file.folder_->stat(file.name_);
    if (!seen) {
      return seen.error().code == Errc::not_found ? session_gone() : seen.error();
    }
    file.seen_ = *seen;
    ASSIGN_OR_RETURN(file.text_, whole_text_in(*file.folder_, session.id));
    return file;
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const FileStat& stat() const { return seen_; }
  [[nodiscard]] std::string path(const std::string& storage) const { return storage + below_; }
  /// A new text for it, which is not visible yet.
  Result<TempFile::Ptr> draft(Disk& disk, std::string_view text, bool sync) const {
    return draft_of(disk, *folder_, name_, text, sync);
  }
  /// False if OpenCode wrote it since it was read; OpenCode's file then stays.
  Result<bool> publish(Disk& disk, TempFile& draft, bool sync) const {
    ASSIGN_OR_RETURN(const bool is_done, draft.replace(name_, [&](const File& old) {
      const auto now = old.stat();
      const auto text = now && *now == seen_ ? old.read(0, now->size) : Result<std::string>(Errc::stale, "");
      return text && *text == text_;
    }));
    RETURN_IF_ERROR(is_done && sync ? disk.sync_folder(*folder_) : Result<void>());
    return is_done;
  }

 private:
  std::optional<Dir> folder_;
  std::string below_;  // its path in the storage
  std::string name_;
  FileStat seen_;
  std::string text_;
};

/// The facts from a session's messages that the next one needs.
struct MessagesSeen {
  LastMessage last;
  std::string with_model;  // the last one that names_model()
};

Result<MessagesSeen> messages_of(const StorageFolder& storage, const SessionName& session) {
  MessagesSeen seen;
  std::pair<double, std::string> last;
  std::pair<double, std::string> named;
  const auto folder = storage.folder("message", session.id);
  ASSIGN_OR_RETURN(auto ids, all_ids_in(folder));
  for (std::string& id : ids) {
    std::string text = text_in(folder, id);
    std::pair<double, std::string> order(created_in(text), std::move(id));
    if (order > last) {
      last = order;
    }
    if (names_model(text) && order > named) {
      named = std::move(order);
      seen.with_model = std::move(text);
    }
  }
  constexpr double kLatest = 9e15;  // of a message without a time, which is being written
  seen.last.id = std::move(last.second);
  seen.last.created_ms = last.first < kLatest ? static_cast<std::int64_t>(last.first) : 0;
  seen.last.is_being_written = !storage.check_quiet({session});
  return seen;
}

/// The same, if `wanted` may follow them.
Result<MessagesSeen> messages_before(const StorageFolder& storage, const SessionFile& file, const SessionName& session,
                                     const NewMessage& wanted) {
  RETURN_IF_ERROR(has_revert(file.text()) ? Result<void>(messages_undone()) : Result<void>());
  ASSIGN_OR_RETURN(auto seen, messages_of(storage, session));
  RETURN_IF_ERROR(check_follows(seen.last, wanted));
  return seen;
}

class FileWrites final : public SessionWrites {
 public:
  /// `settings` outlive this object.
  explicit FileWrites(const WriteSettings& settings) : settings_(settings) {}

  Result<AppendResult> add(const arborfs::Store& store, const LogPlace& place, const NewMessage& wanted,
                           std::vector<Effect>& effects) override {
    Disk& disk = store.disk();
    const SessionName session = session_at(place);
    const std::string path = storage_of(store.paths().sessions);
    ASSIGN_OR_RETURN(const auto storage, StorageFolder::lock(path));
    ASSIGN_OR_RETURN(const auto file, SessionFile::read(storage, session));
    ASSIGN_OR_RETURN(const MessagesSeen seen, messages_before(storage, file, session, wanted));
    const MessageRecords message = records_of(wanted, time_behind(seen.last), seen.with_model);
    TempFile::Ptr used;
    const std::string with_use = wanted.is_summary ? file.text() : with_time(file.text(), message.time_ms);
    if (with_use != file.text()) {
      ASSIGN_OR_RETURN(used, file.draft(disk, with_use, syncs()));
    }
    if (const auto messages = storage.folder("message", session.id)) {
      clear_drafts(disk, *messages);
    }
    FileBatch files(disk, path, kAnyPermissions, syncs());
    RETURN_IF_ERROR(files.write(session.id, message, FileBatch::Layout::indented));
    effects = files.keep();
    // The message is stored. If the session keeps its earlier time, the message still counts as written.
    const auto published = used ? file.publish(disk, *used, syncs()) : Result<bool>(false);
    if (published && *published) {
      effects.push_back(effect_of(replaced_in(file.path(path), file.text(), with_use, file.stat())));
    }
    return AppendResult{message.info.id, seen.last.id};
  }

  Result<void> check_add(const arborfs::Store& store, const LogPlace& place, const NewMessage& wanted) override {
    const SessionName session = session_at(place);
    ASSIGN_OR_RETURN(const auto storage, StorageFolder::open(storage_of(store.paths().sessions)));
    ASSIGN_OR_RETURN(const auto file, SessionFile::read(storage, session));
    RETURN_IF_ERROR(messages_before(storage, file, session, wanted));
    return {};
  }

  /// The files of a message, of its part and of the session, and two folders.
  [[nodiscard]] RoomWanted room_for(const arborfs::Store& store, const LogPlace& place,
                                    std::uint64_t bytes) const override {
    constexpr std::uint64_t kMade = 5;
    constexpr std::uint64_t kBlock = 4 << 10;  // that each of them begins
    const auto folder = store.folder(place);
    const auto session = folder ? folder->stat(place.file) : Result<FileStat>(folder.error());
    return {bytes + (session ? session->size : 0) + kMade * (kBlock + RoomWanted::kBeside), kMade};
  }

  Result<std::string> set_title(const arborfs::Store& store, const LogPlace& place, const std::string& wanted,
                                bool is_automatic, std::vector<Effect>& effects) override {
    Disk& disk = store.disk();
    const std::string path = storage_of(store.paths().sessions);
    ASSIGN_OR_RETURN(const auto storage, StorageFolder::lock(path));
    for (int reads = 0; reads < kMostReads; ++reads) {
      ASSIGN_OR_RETURN(const auto file, SessionFile::read(storage, session_at(place)));
      std::string present = skim::text_member(file.text(), "title");
      if (present == wanted || (is_automatic && !is_default_title(present))) {
        return present;
      }
      ASSIGN_OR_RETURN(const auto titled, with_title(file.text(), wanted));
      const std::string text = with_time(titled, now_ms());
      ASSIGN_OR_RETURN(auto draft, file.draft(disk, text, syncs()));
      ASSIGN_OR_RETURN(const bool is_done, file.publish(disk, *draft, syncs()));
      if (is_done) {
        effects.push_back(effect_of(replaced_in(file.path(path), file.text(), text, file.stat())));
        return wanted;
      }
    }
    return Error{Errc::stale, "OpenCode wrote to the session meanwhile; try again"};
  }

  Result<Trashed> remove(const arborfs::Store& store, const LogPlace& place, const std::string& title,
                         bool force) override {
    ASSIGN_OR_RETURN(const auto storage, StorageFolder::lock(storage_of(store.paths().sessions)));
    clear_killed_forks(store.disk(), storage);  // the note of a complete one would have its messages removed
    if (!force) {
      ASSIGN_OR_RETURN(const auto sessions, storage.family_of(session_at(place)));
      RETURN_IF_ERROR(storage.check_quiet(sessions));
    }
    Transfer transfer(settings_.trash, store.disk());
    return transfer.take(store, place, title, belongings_in_files(store, place, &storage), syncs());
  }

  Result<void> check_quiet(const arborfs::Store& store, const LogPlace& place) override {
    ASSIGN_OR_RETURN(const auto storage, StorageFolder::open(storage_of(store.paths().sessions)));
    ASSIGN_OR_RETURN(const auto sessions, storage.family_of(session_at(place)));
    return storage.check_quiet(sessions);
  }

  Result<void> describe(const arborfs::Store& store, const FolderMove& move, Relocation& wanted) override {
    const std::string path = storage_of(store.paths().sessions);
    ASSIGN_OR_RETURN(const auto storage, StorageFolder::open(path));
    const auto projects = storage.folder(std::string(kProjects));
    const auto project = projects ? whole_text_in(*projects, wanted.from.folder) : Result<std::string>("");
    if (const auto now = move.now(skim::text_member(project ? *project : "", "worktree"))) {
      ASSIGN_OR_RETURN(const auto moved, json::change_member(*project, "worktree", json::stringify_string(*now)));
      wanted.edits.push_back(edit_of(0, *project, moved, path + "/" + std::string(kProjects)));
      wanted.edits.back().file = file_of_id(wanted.from.folder);
    }
    ASSIGN_OR_RETURN(const auto file, SessionFile::read(storage, session_at(wanted.from)));
    ASSIGN_OR_RETURN(const auto moved,
                     json::change_member(file.text(), "directory", json::stringify_string(wanted.cwd_after)));
    wanted.edits.push_back(edit_of(0, file.text(), moved));
    wanted.edits.back().file = wanted.from.file;
    return {};
  }

  Result<void> under_lock(const arborfs::Store& store, const std::function<Result<void>()>& work) override {
    ASSIGN_OR_RETURN(const auto storage, StorageFolder::lock(storage_of(store.paths().sessions)));
    return work();
  }

  Result<void> each_message(const arborfs::Store& store, const LogPlace& place, const Take& take) override {
    ASSIGN_OR_RETURN(const auto storage, StorageFolder::open(storage_of(store.paths().sessions)));
    ASSIGN_OR_RETURN(const auto sessions, storage.family_of(session_at(place)));
    for (const SessionName& session : sessions) {
      const auto folder = storage.folder("message", session.id);
      for (const std::string& id : ids_in(folder)) {
        take(session.id, text_in(folder, id));
      }
    }
    return {};
  }

 private:
  [[nodiscard]] bool syncs() const { return settings_.durability == Durability::synced; }
  const WriteSettings& settings_;
};

}  // namespace

std::unique_ptr<SessionWrites> make_file_writes(const WriteSettings& settings) {
  return std::make_unique<FileWrites>(settings);
}

}  // namespace arborfs::opencode
