#include "core/writer/writer.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/result_macros.h"
#include "core/session/agent_look.h"
#include "core/session/liveness.h"
#include "core/store/prompt_history.h"
#include "core/writer/commit.h"

namespace arborfs {

namespace {

constexpr const char* kCannotReserve = "cannot reserve disk space";

/// Checks RLIMIT_FSIZE, because a reservation in another file does not show how large the log itself may become. The
/// room beside the content is no part of it.
Result<void> check_size_limit(const Dir& folder, const RoomWanted& room) {
  rlimit limit{};
  const auto log = folder.stat(room.grown_file);
  const bool fits = !log || ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
                    log->size + room.bytes <= limit.rlim_cur + RoomWanted::kBeside;
  return fits ? Result<void>() : error_from_errno(EFBIG, kCannotReserve);
}

/// A file system may have space, but no room for another file.
Result<void> check_files(const Dir& folder, std::uint64_t files) {
  struct statvfs found {};
  const bool fits = ::fstatvfs(folder.fd(), &found) != 0 || found.f_files == 0 || found.f_favail >= files;
  return fits ? Result<void>() : error_from_errno(ENOSPC, kCannotReserve);
}

Error refusal(const SessionPtr& session, std::string_view verb) {
  const auto may = check_no_link(session->store(), session->place());
  return may ? does_not_take(session->format(), verb) : may.error();
}

}  // namespace

Result<void> Writer::check(const SessionPtr& session, bool /*force*/) {
  RETURN_IF_ERROR(check_writable(session->format()));
  return check_no_link(session->store(), session->place());
}

Result<void> Writer::check_quiet(const SessionPtr& session, bool force) const {
  if (force || settings_.write_live) {
    return {};
  }
  const Liveness found = check_liveness(*session, catalog_, *AgentLook::now(session->store()));
  if (found.state == Liveness::State::quiet) {
    return {};
  }
  return session_is_live(found);
}

Result<void> Writer::check_allows_delete() const {
  if (!settings_.allow_delete) {
    return Error{Errc::not_permitted,
                 "sessions can be removed only in a mount with -o allow_delete or with arborfs rm"};
  }
  return {};
}

void Writer::keep_written(const Session& session, const Trashed& trashed, Trash& trash) {
  const std::string& log = trashed.place.file;
  ErasedEntries& erased = catalog_.state_of(session).erased;
  if (auto kept = trash.keep_written(trashed, erased.written(log)); !kept) {
    write_log(LogLevel::warning, "the entries that were appended to " + log +
                                     " will not be protected after it is restored: " + kept.error().message);
  }
  erased.forget(log);
}

Result<CreateResult> Writer::show_made(const LogPlace& place) {
  if (const auto made = catalog_.stores().at(place.store)->stat(place)) {
    catalog_.state(place.store).marks.note_made(place.file, *made);
  }
  catalog_.rescan_folder(place.in());
  const auto session = catalog_.at(place);
  if (session) {
    return CreateResult{session, session->head().header.id, session->shown_path()};
  }
  const auto there = catalog_.stores().at(place.store)->stat(place);
  if (there || there.error().code != Errc::not_found) {
    return Error{Errc::io, "the new session " + std::string(place.stem()) + " is written, but cannot be read back" +
                               (there ? "" : ": " + there.error().message)};
  }
  return Error{Errc::stale, "another program has already removed the new session"};
}

Result<AppendResult> Writer::append_text(const SessionPtr& session, AppendText /*text*/) {
  return refusal(session, "append");
}

Result<void> Writer::check_text(const SessionPtr& /*session*/, const std::string& /*at*/) {
  return {};
}

Result<void> Writer::check_json(const SessionPtr& session, std::string_view /*text*/) {
  return check(session);
}

Result<MovedLeaf> Writer::branch(const SessionPtr& session, const std::string& /*target*/,
                                 const std::string& /*summary*/, bool /*force*/, bool /*pin*/) {
  return refusal(session, "branch");
}

Result<void> Writer::check_branch(const SessionPtr& session, const std::string& /*target*/) {
  return refusal(session, "branch");
}

Result<void> Writer::move_back(const SessionPtr& session, const LeafMove& /*move*/) {
  return refusal(session, "branch");
}

Result<AppendResult> Writer::label(const SessionPtr& session, const std::vector<LabelChange>& /*changes*/,
                                   bool /*force*/) {
  return refusal(session, "label");
}

Result<std::string> Writer::set_title(const SessionPtr& session, std::string_view /*title*/, bool /*force*/,
                                      std::string_view /*source*/) {
  return refusal(session, "title");
}

Result<CreateResult> Writer::fork(const SessionPtr& session, const std::string& /*target*/, bool /*force*/,
                                  const std::optional<std::string>& /*title*/) {
  return refusal(session, "fork");
}

Result<AdoptResult> Writer::fork_to(const SessionPtr& /*session*/, const ForeignFork& wanted) {
  return Error{Errc::unsupported, "cannot fork a session to " + wanted.agent};
}

Result<AdoptResult> Writer::adopt(const Conversation& /*conversation*/, const std::string& agent) {
  return Error{Errc::unsupported, "cannot fork a session to " + agent};
}

Result<AdoptResult> Writer::adopt_own(const SessionPtr& /*session*/, const ForeignFork& wanted,
                                      const Conversation& conversation) {
  return adopt(conversation, wanted.agent);
}

Result<CreateResult> Writer::create(const NewSession& wanted) {
  return Error{Errc::unsupported, "cannot create a session of " + wanted.agent};
}

Result<CreateResult> Writer::move(const SessionPtr& session, const std::string& /*cwd*/, bool /*force*/) {
  return refusal(session, "move");
}

Result<void> Writer::remove(const SessionPtr& session, bool /*force*/) {
  return refusal(session, "remove");
}

Result<void> Writer::check_remove(const SessionPtr& session, bool force) {
  if (!session->format().takes("remove")) {
    return refusal(session, "remove");
  }
  RETURN_IF_ERROR(check_allows_delete());
  return check(session, force);
}

Result<AppendResult> Writer::replace(const SessionPtr& session, const Replacement& /*wanted*/, bool /*force*/) {
  return refusal(session, "replace");
}

Result<std::size_t> Writer::put_back_erased(const SessionPtr& session, bool /*force*/) {
  return refusal(session, "doctor --repair");
}

Result<AppendResult> Writer::summarize(const SessionPtr& session, const std::string& /*text*/, bool /*force*/) {
  return refusal(session, "summary");
}

Result<std::string> Writer::checkpoint(const SessionPtr& session, const CheckpointWanted& /*wanted*/, bool /*force*/) {
  return refusal(session, "checkpoint");
}

Result<std::string> Writer::rewind(const SessionPtr& session, const std::string& /*checkpoint*/, bool /*dry_run*/,
                                   bool /*force*/) {
  return refusal(session, "rewind");
}

RoomWanted Writer::room_for(const SessionPtr& session, std::string_view /*verb*/, std::uint64_t bytes) {
  return {bytes + RoomWanted::kBeside, 2, std::filesystem::path(session->store().path_of(session->place())).filename()};
}

Result<DiskReservation> Writer::reserve(const SessionPtr& session, std::uint64_t bytes, std::string_view verb) {
  auto folder = session->store().folder(session->place());
  if (!folder) {
    return DiskReservation();  // the store is not on a disk
  }
  const RoomWanted wanted = room_for(session, verb, bytes);
  RETURN_IF_ERROR(check_size_limit(*folder, wanted));
  RETURN_IF_ERROR(check_files(*folder, wanted.files));
  ASSIGN_OR_RETURN(auto room, session->store().disk().reserve(*folder, wanted.bytes));
  DiskReservation reserved;
  reserved.add(std::move(room));
  return reserved;
}

Result<DiskReservation> Writer::reserve(const std::vector<RoomAt>& rooms) {
  DiskReservation reserved;
  for (const RoomAt& room : rooms) {
    RETURN_IF_ERROR(check_files(room.folder, room.wanted.files));
    ASSIGN_OR_RETURN(auto taken, (*catalog_.stores().begin())->disk().reserve(room.folder, room.wanted.bytes));
    reserved.add(std::move(taken));
  }
  return reserved;
}

std::vector<RoomAt> Writer::room_for_new(const std::string& agent, std::uint64_t bytes, std::uint64_t /*entries*/) {
  const auto number = catalog_.stores().first_of(agent);
  const StorePaths paths = number ? catalog_.stores().at(*number)->paths() : StorePaths();
  std::vector<RoomAt> room;
  for (const std::string& path : {paths.sessions, paths.agent_dir}) {
    auto folder = room.empty() ? Dir::open_root(path) : Result<Dir>(Errc::not_found, "");
    if (folder) {
      room.push_back({*std::move(folder), RoomWanted::for_new_session(bytes)});
    }
  }
  return room;
}

std::vector<RoomAt> Writer::room_for_checkpoint(const SessionPtr& /*session*/, const CheckpointWanted& /*wanted*/) {
  return {};
}

std::vector<RoomAt> Writer::room_for_rewind(const SessionPtr& /*session*/, const std::string& /*checkpoint*/) {
  return {};
}

void Writer::remember_prompt(const SessionPtr& session, const std::string& text) {
  PromptHistory* history = settings_.history ? session->store().prompt_history() : nullptr;
  if (history == nullptr) {
    return;
  }
  const Header header = session->head().header;
  prompts_.add(*history, {now_ms() / 1000, text, header.cwd, header.id}, settings_.durability == Durability::synced);
}

void Writer::note_lost_prompt(const Error& error) {
  if (!has_told_of_history_.exchange(true)) {
    write_log(LogLevel::warning, error.message);
    catalog_.note_error(error.message);
  }
}

void Writer::note_outcome(const SessionPtr& session, std::string_view doing, const Error* error) {
  const std::string text = error == nullptr ? "" : std::string(doing) + ": " + error->message;
  if (session && session->write_error() != text) {
    session->set_write_error(text);
  }
  if (error == nullptr) {
    return;
  }
  const std::string where = session ? session->stem() : "the store";
  write_log(LogLevel::warning, where + ": " + text);
  catalog_.note_error(where + ": " + text);
}

}  // namespace arborfs
