#include "core/formats/opencode/write/file_writes.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/formats/opencode/json_files.h"
#include "core/formats/opencode/json_texts.h"
#include "core/formats/opencode/write/belongings.h"
#include "core/formats/opencode/write/file_texts.h"
#include "core/formats/opencode/write/fork_note.h"
#include "core/formats/opencode/write/new_ids.h"
#include "core/formats/opencode/write/storage_folder.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"

namespace arborfs::opencode {
namespace {

/// How often a session's file is read again because OpenCode wrote it meanwhile.
constexpr int kMostReads = 5;

SessionName session_at(const LogPlace& place) {
  return {place.folder, std::string(place.stem())};
}

/// The file of a session as it was read.
class SessionFile {
 public:
  static Result<SessionFile> read(const StorageFolder& storage, const SessionName& session) {
    SessionFile file;
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

/// Inserts the ids before the members of a text (new_message.h).
std::string with_ids(std::initializer_list<std::pair<std::string_view, std::string_view>> ids, std::string_view text) {
  std::string object = "{";
  for (const auto& [key, id] : ids) {
    object.append("\"").append(key).append("\":").append(json::stringify_string(id)).append(",");
  }
  return indented(object + std::string(text.substr(1)));
}

/// A message and its part while they are being added to the store. The destructor removes them unless they were kept.
class MessageOnItsWay {
 public:
  MessageOnItsWay(Disk& disk, const StorageFolder& storage, std::string session, bool sync)
      : disk_(disk), storage_(storage), session_(std::move(session)), sync_(sync) {}
  MessageOnItsWay(const MessageOnItsWay&) = delete;
  MessageOnItsWay& operator=(const MessageOnItsWay&) = delete;
  ~MessageOnItsWay() {
    message_draft_.reset();
    part_draft_.reset();
    if (is_kept_) {
      return;
    }
    if (message_is_there_ && !disk_.remove(*messages_, file_of_id(message_))) {
      return;  // a message keeps its part
    }
    if (part_is_there_) {
      static_cast<void>(disk_.remove(*parts_, file_of_id(part_)));
    }
    if (all_parts_) {
      static_cast<void>(disk_.remove_folder(*all_parts_, message_));
    }
  }

  Result<void> prepare(const NewMessage& wanted, std::int64_t created_ms, std::string_view before) {
    const std::string info = message_text(wanted, created_ms, before);
    message_ = new_id("msg", created_ms, 1);
    part_ = new_id("prt", created_ms, 2);
    ASSIGN_OR_RETURN(auto messages, storage_.make_folder(disk_, "message", session_));
    messages_ = std::move(messages);
    ASSIGN_OR_RETURN(auto all_parts, storage_.make_folder(disk_, "part"));
    all_parts_ = std::move(all_parts);
    ASSIGN_OR_RETURN(auto parts, storage_.make_folder(disk_, "part", message_));
    parts_ = std::move(parts);
    ASSIGN_OR_RETURN(message_draft_,
                     draft(*messages_, message_, with_ids({{"id", message_}, {"sessionID", session_}}, info)));
    ASSIGN_OR_RETURN(part_draft_, draft(*parts_, part_,
                                        with_ids({{"id", part_}, {"sessionID", session_}, {"messageID", message_}},
                                                 part_text(wanted, created_ms))));
    return {};
  }
  /// The part is written first, so that the message is never visible without it.
  Result<std::string> publish() {
    RETURN_IF_ERROR(part_draft_->publish(*parts_, file_of_id(part_), Disk::Existing::keep));
    part_is_there_ = true;
    RETURN_IF_ERROR(synced(*parts_));
    RETURN_IF_ERROR(message_draft_->publish(*messages_, file_of_id(message_), Disk::Existing::keep));
    message_is_there_ = true;
    RETURN_IF_ERROR(synced(*messages_));
    is_kept_ = true;
    return message_;
  }

 private:
  Result<TempFile::Ptr> draft(const Dir& folder, const std::string& id, const std::string& text) {
    return draft_of(disk_, folder, file_of_id(id), text, sync_);
  }
  Result<void> synced(const Dir& folder) { return sync_ ? disk_.sync_folder(folder) : Result<void>(); }

  Disk& disk_;
  const StorageFolder& storage_;
  const std::string session_;
  const bool sync_;
  std::string message_;
  std::string part_;
  std::optional<Dir> messages_;
  std::optional<Dir> all_parts_;
  std::optional<Dir> parts_;
  TempFile::Ptr message_draft_;
  TempFile::Ptr part_draft_;
  bool part_is_there_ = false;
  bool message_is_there_ = false;
  bool is_kept_ = false;
};

}  // namespace

Result<AppendResult> FileWrites::add(const SessionStore& store, const LogPlace& place, const NewMessage& wanted) {
  Disk& disk = store.disk();
  const SessionName session = session_at(place);
  ASSIGN_OR_RETURN(const auto storage, StorageFolder::lock(storage_of(store.paths().sessions)));
  ASSIGN_OR_RETURN(const auto file, SessionFile::read(storage, session));
  ASSIGN_OR_RETURN(const MessagesSeen seen, messages_before(storage, file, session, wanted));
  const std::int64_t created_ms = time_behind(seen.last);
  TempFile::Ptr used;
  const std::string with_use = wanted.is_summary ? file.text() : with_time(file.text(), created_ms);
  if (with_use != file.text()) {
    ASSIGN_OR_RETURN(used, file.draft(disk, with_use, syncs()));
  }
  if (const auto messages = storage.folder("message", session.id)) {
    clear_drafts(disk, *messages);
  }
  MessageOnItsWay message(disk, storage, session.id, syncs());
  RETURN_IF_ERROR(message.prepare(wanted, created_ms, seen.with_model));
  ASSIGN_OR_RETURN(auto id, message.publish());
  if (used) {
    // The message is stored. If the session keeps its earlier time, the message still counts as written.
    static_cast<void>(file.publish(disk, *used, syncs()));
  }
  return AppendResult{std::move(id), seen.last.id};
}

Result<void> FileWrites::check_add(const SessionStore& store, const LogPlace& place, const NewMessage& wanted) {
  const SessionName session = session_at(place);
  ASSIGN_OR_RETURN(const auto storage, StorageFolder::open(storage_of(store.paths().sessions)));
  ASSIGN_OR_RETURN(const auto file, SessionFile::read(storage, session));
  RETURN_IF_ERROR(messages_before(storage, file, session, wanted));
  return {};
}

/// The files of a message, of its part and of the session, and two folders.
RoomWanted FileWrites::room_for(const SessionStore& store, const LogPlace& place, std::uint64_t bytes) const {
  constexpr std::uint64_t kMade = 5;
  constexpr std::uint64_t kBlock = 4 << 10;  // that each of them begins
  const auto folder = store.folder(place);
  const auto session = folder ? folder->stat(place.file) : Result<FileStat>(folder.error());
  return {bytes + (session ? session->size : 0) + kMade * (kBlock + RoomWanted::kBeside), kMade};
}

Result<std::string> FileWrites::set_title(const SessionStore& store, const LogPlace& place, const std::string& wanted,
                                          bool is_automatic) {
  Disk& disk = store.disk();
  ASSIGN_OR_RETURN(const auto storage, StorageFolder::lock(storage_of(store.paths().sessions)));
  for (int reads = 0; reads < kMostReads; ++reads) {
    ASSIGN_OR_RETURN(const auto file, SessionFile::read(storage, session_at(place)));
    std::string present = skim::string_value(skim::member(file.text(), "title")).value_or("");
    if (present == wanted || (is_automatic && !is_default_title(present))) {
      return present;
    }
    ASSIGN_OR_RETURN(const auto text, with_title(file.text(), wanted));
    ASSIGN_OR_RETURN(auto draft, file.draft(disk, with_time(text, now_ms()), syncs()));
    ASSIGN_OR_RETURN(const bool is_done, file.publish(disk, *draft, syncs()));
    if (is_done) {
      return wanted;
    }
  }
  return Error{Errc::stale, "OpenCode wrote to the session meanwhile; try again"};
}

Result<void> FileWrites::remove(const SessionStore& store, const LogPlace& place, const std::string& title,
                                bool force) {
  ASSIGN_OR_RETURN(const auto storage, StorageFolder::lock(storage_of(store.paths().sessions)));
  clear_killed_forks(store.disk(), storage);  // the note of a complete one would have its messages removed
  if (!force) {
    ASSIGN_OR_RETURN(const auto sessions, storage.family_of(session_at(place)));
    RETURN_IF_ERROR(storage.check_quiet(sessions));
  }
  Transfer transfer(settings_.trash, store.disk());
  RETURN_IF_ERROR(transfer.take(store, place, title, belongings_in_files(store, place, &storage), syncs()));
  return {};
}

Result<void> FileWrites::check_quiet(const SessionStore& store, const LogPlace& place) {
  ASSIGN_OR_RETURN(const auto storage, StorageFolder::open(storage_of(store.paths().sessions)));
  ASSIGN_OR_RETURN(const auto sessions, storage.family_of(session_at(place)));
  return storage.check_quiet(sessions);
}

Result<void> FileWrites::each_message(const SessionStore& store, const LogPlace& place, const Take& take) {
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

}  // namespace arborfs::opencode
