#include "core/write/writer.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/suggestion.h"
#include "core/base/words.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/session/liveness.h"
#include "core/store/prompt_history.h"
#include "core/write/command_text.h"
#include "core/write/commit.h"
#include "core/write/resolve_target.h"
#include "core/write/transfer.h"
#include "core/write/trash.h"

namespace arborfs {

PromptQueue::~PromptQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool PromptQueue::has_waiting() {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

void PromptQueue::add(PromptHistory& history, Prompt prompt, bool sync) {
  if (!has_waiting()) {
    const auto done = history.add(prompt, {sync, limits_.at_once});
    if (done) {
      return;
    }
    if (done.error().code != Errc::busy) {
      report_(done.error());
      return;
    }
  }
  put_off({&history, std::move(prompt), sync, Clock::now()});
}

void PromptQueue::put_off(Waiting waiting) {
  const std::string& path = waiting.history->path();
  {
    const std::lock_guard lock(mutex_);
    const std::size_t bytes = bytes_ + waiting.prompt.text.size();
    bool can_wait = waiting_.size() < limits_.most && bytes <= limits_.most_bytes;
    if (can_wait && !thread_.joinable()) {
      try {
        thread_ = std::thread([this] { run(); });
      } catch (const std::system_error&) {
        can_wait = false;
      }
    }
    if (can_wait) {
      bytes_ = bytes;
      waiting_.push_back(std::move(waiting));
      changed_.notify_all();
      return;
    }
  }
  report_({Errc::busy, "the prompt history " + path + " is locked, and too many prompts wait for it"});
}

void PromptQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    const bool was_ending = is_ending_;
    if (store_next(lock)) {
      continue;
    }
    if (was_ending) {
      drop_rest(lock);
      return;
    }
    changed_.wait_for(lock, limits_.each_try, [this] { return is_ending_; });
  }
}

/// Tries to store the first that waits. False if it has to wait on.
bool PromptQueue::store_next(std::unique_lock<std::mutex>& lock) {
  const Waiting& next = waiting_.front();  // only this thread removes one
  lock.unlock();
  const auto done = next.history->add(next.prompt, {next.sync, limits_.each_try});
  const bool is_locked = !done && done.error().code == Errc::busy;
  const bool waits_on = is_locked && Clock::now() - next.since < limits_.longest;
  if (!done && !waits_on) {
    report_(done.error());
  }
  lock.lock();
  if (!waits_on) {
    bytes_ -= waiting_.front().prompt.text.size();
    waiting_.pop_front();
  }
  return !waits_on;
}

void PromptQueue::drop_rest(std::unique_lock<std::mutex>& lock) {
  const std::size_t count = waiting_.size();
  const std::string path = waiting_.front().history->path();
  waiting_.clear();
  lock.unlock();
  report_({Errc::busy, "the prompt history " + path +
                           " is locked; prompts that waited for it and are not in it: " + std::to_string(count)});
}

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

Writer* Writer::writer_of(const SessionPtr& session) {
  Writer* const other = writer_of_agent(session);
  return other != nullptr && session->store().is_link(session->place()) ? nullptr : other;
}

Result<void> Writer::check(const SessionPtr& session, bool force) {
  if (Writer* const other = writer_of(session)) {
    return other->check(session, force);
  }
  RETURN_IF_ERROR(check_writable(session->format()));
  return check_no_link(session->store(), session->place());
}

Result<void> Writer::check_quiet(const SessionPtr& session, bool force) const {
  const auto found = force ? std::nullopt : held_by(session);
  return found ? Result<void>(session_is_live(*found)) : Result<void>();
}

std::optional<Liveness> Writer::held_by(const SessionPtr& session) const {
  if (settings_.write_live) {
    return std::nullopt;
  }
  const Liveness found = check_liveness(*session, catalog_, *AgentLook::now(session->store()));
  return found.state == Liveness::State::quiet ? std::nullopt : std::optional(found);
}

Result<void> Writer::check_allows_delete() const {
  if (!settings_.allow_delete) {
    return Error{Errc::not_permitted,
                 "sessions can be removed only in a mount with -o allow_delete or with arborfs rm"};
  }
  return {};
}

Result<void> Writer::move_to_trash(const SessionPtr& session, const std::unique_ptr<Belongings>& what, bool sync) {
  const Store& store = session->store();
  ASSIGN_OR_RETURN(
      const auto trashed,
      Transfer(settings_.trash, store.disk()).take(store, session->place(), Trash::shown_title(*session), what, sync));
  note_trashed(*session, trashed);
  return {};
}

void Writer::note_trashed(const Session& session, const Trashed& trashed) {
  const std::string& log = trashed.place.file;
  ErasedEntries& erased = catalog_.state_of(session).erased;
  Trash trash(settings_.trash, session.store().disk());
  if (auto kept = trash.keep_written(trashed, erased.written(log)); !kept) {
    write_log(LogLevel::warning, "the entries that were appended to " + log +
                                     " will not be protected after it is restored: " + kept.error().message);
  }
  erased.forget(log);
  note_effects(session, "rm", {{Effect::Kind::trash, trashed.name, "false", "true"}});
}

void Writer::note_effects(const Session& session, std::string_view verb, std::vector<Effect> effects) {
  Operation operation = operation_on(session, verb);
  operation.effects = std::move(effects);
  catalog_.operations().add(std::move(operation));
}

namespace {

std::vector<Effect> effects_of_notes(const Noted& before, const Noted& after) {
  const auto json = [](const Noted& noted) { return noted == Noted() ? "null" : noted_json(noted); };
  return before == after ? std::vector<Effect>()
                         : std::vector<Effect>{{Effect::Kind::notes, "", json(before), json(after)}};
}

}  // namespace

void Writer::note_noted(const Session& session, std::string_view verb, const Noted& before, const Noted& after) {
  if (auto effects = effects_of_notes(before, after); !effects.empty()) {
    note_effects(session, verb, std::move(effects));
  }
}

void Writer::note_final(const Session& session, std::string_view verb, std::string instead) {
  Operation operation = operation_on(session, verb);
  operation.cannot = std::move(instead);
  catalog_.operations().add(std::move(operation));
}

Result<void> Writer::under_lock(const SessionPtr& session, const std::function<Result<void>()>& work, bool force) {
  if (Writer* const other = writer_of(session)) {
    return other->under_lock(session, work, force);
  }
  RETURN_IF_ERROR(check_writable(session->format()));
  Committer* const changes = committer();
  return changes == nullptr ? Result<void>(refusal(session, "undo")) : changes->work(session, work, live_policy(force));
}

Result<CreateResult> Writer::show_made(const LogPlace& place) {
  if (const auto made = catalog_.stores().at(place.store)->stat(place)) {
    catalog_.state(place.store).marks.note_made(place.file, *made);
  }
  catalog_.rescan_folder(place.in());
  const auto session = catalog_.at(place);
  if (session) {
    return CreateResult{session, session->id(), session->shown_path()};
  }
  const auto there = catalog_.stores().at(place.store)->stat(place);
  if (there || there.error().code != Errc::not_found) {
    return Error{Errc::io, "the new session " + std::string(place.stem()) + " is written, but cannot be read back" +
                               (there ? "" : ": " + there.error().message)};
  }
  return Error{Errc::stale, "another program has already removed the new session"};
}

template <class Outcome, class... Parameters, class... Rest>
Outcome Writer::pass(std::string_view verb, Outcome (Writer::*call)(const SessionPtr&, Parameters...),
                     const SessionPtr& session, Rest&&... rest) {
  Writer* const other = writer_of(session);
  return other == nullptr ? Outcome(refusal(session, verb)) : (other->*call)(session, std::forward<Rest>(rest)...);
}

Result<AppendResult> Writer::append_text(const SessionPtr& session, AppendText text) {
  return pass("append", &Writer::append_text, session, std::move(text));
}

Result<void> Writer::check_text(const SessionPtr& session, const std::string& at) {
  Writer* const other = writer_of_agent(session);
  return other == nullptr ? Result<void>() : other->check_text(session, at);
}

Result<void> Writer::check_json(const SessionPtr& session, std::string_view text) {
  Writer* const other = writer_of(session);
  return other == nullptr ? check(session) : other->check_json(session, text);
}

Result<MovedLeaf> Writer::branch(const SessionPtr& session, const std::string& target, const std::string& summary,
                                 bool force, bool pin) {
  return pass("branch", &Writer::branch, session, target, summary, force, pin);
}

Result<void> Writer::check_branch(const SessionPtr& session, const std::string& target) {
  return pass("branch", &Writer::check_branch, session, target);
}

Result<void> Writer::move_back(const SessionPtr& session, const LeafMove& move) {
  return pass("branch", &Writer::move_back, session, move);
}

Result<AppendResult> Writer::label(const SessionPtr& session, const std::vector<LabelChange>& changes, bool force) {
  return session->format().takes("label") ? pass("label", &Writer::label, session, changes, force)
                                          : note_labels(session, changes);
}

Result<AppendResult> Writer::note_labels(const SessionPtr& session, const std::vector<LabelChange>& changes) {
  RETURN_IF_ERROR(session->refresh(Depth::index));
  std::vector<Noted::EntryLabel> wanted;
  AppendResult last;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    const LogIndex& index = guard.index();
    for (const LabelChange& change : changes) {
      ASSIGN_OR_RETURN(Ordinal target, find_target(index, change.target));
      target = change.label.empty() ? target : named_entry(index, target);
      const EntryId id = index.id(target);
      if (id.kind != EntryId::Kind::string) {
        return Error{Errc::invalid_argument, "the entry has no id by which a label could be kept; label another one"};
      }
      wanted.push_back({id.text, change.label});
      const EntryId parent = index.parent_id(target);
      last = {id.text, parent.kind == EntryId::Kind::string ? parent.text : ""};
    }
  }
  const NotedPtr before = session->noted();
  ASSIGN_OR_RETURN(const auto now, catalog_.notes().set_labels(Notes::key_of(*session), wanted, syncs()));
  session->reload_notes();
  note_noted(*session, "label", *before, now);
  return last;
}

Result<std::string> Writer::set_title(const SessionPtr& session, std::string_view title, bool force,
                                      std::string_view source) {
  return session->format().takes("title") ? pass("title", &Writer::set_title, session, title, force, source)
                                          : note_title(session, title, source);
}

Result<std::string> Writer::note_title(const SessionPtr& session, std::string_view title, std::string_view source) {
  const bool clears = json::is_valid_utf8(title) && one_line_title(title).empty();
  ASSIGN_OR_RETURN(const std::string wanted, clears ? Result<std::string>(std::string()) : checked_title(title));
  if (clears || title_in_force(session->title(), wanted, source) == wanted) {
    const NotedPtr before = session->noted();
    ASSIGN_OR_RETURN(const auto now, catalog_.notes().set_title(Notes::key_of(*session), wanted, syncs()));
    session->reload_notes();
    note_noted(*session, "title", *before, now);
  }
  return session->title();
}

Result<void> Writer::set_mark(const SessionPtr& session, Mark mark, bool is_set, bool force) {
  return pass(mark_name(mark), &Writer::set_mark, session, mark, is_set, force);
}

Result<Notes::Tags> Writer::change_tags(const SessionPtr& session, const Notes::TagChange& change) {
  if (Writer* const other = writer_of(session)) {
    return other->change_tags(session, change);
  }
  if (const std::string own = session->tag();
      !own.empty() && std::find(change.remove.begin(), change.remove.end(), own) != change.remove.end()) {
    return Error{Errc::not_permitted, "the tag '" + own + "' is " + std::string(session->agent()) +
                                          "'s own, which arborfs only reads here; take it away there"};
  }
  std::vector<Effect> effects;
  auto tags = note_tags(session, change, effects);
  if (!effects.empty()) {
    note_effects(*session, "tags", std::move(effects));
  }
  return tags;
}

Result<Notes::Tags> Writer::note_tags(const SessionPtr& session, const Notes::TagChange& change,
                                      std::vector<Effect>& effects) {
  const NotedPtr before = session->noted();
  const auto noted = catalog_.notes().change_tags(Notes::key_of(*session), change, syncs());
  note_outcome(session, "tags", noted ? nullptr : &noted.error());
  if (!noted) {
    return noted.error();
  }
  session->reload_notes();
  const auto made = effects_of_notes(*before, *noted);
  effects.insert(effects.end(), made.begin(), made.end());
  return tags_of(*session, *noted);
}

Result<CreateResult> Writer::fork(const SessionPtr& session, const std::string& target, bool force,
                                  const std::optional<std::string>& title) {
  return pass("fork", &Writer::fork, session, target, force, title);
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

Result<CreateResult> Writer::move(const SessionPtr& session, const std::string& cwd, bool force) {
  return pass("move", &Writer::move, session, cwd, force);
}

Result<Relocation> Writer::describe_relocation(const SessionPtr& session, const FolderMove& move) {
  return pass("relocate", &Writer::describe_relocation, session, move);
}

Result<Relocation> Writer::relocate(const SessionPtr& session, const FolderMove& move) {
  Relocation made;
  const auto make = [&]() -> Result<void> {
    ASSIGN_OR_RETURN(made, describe_relocation(session, move));
    RETURN_IF_ERROR(arborfs::check_relocation(session->store(), made));
    Operation operation = operation_on(*session, "relocate");
    operation.place = made.to;
    operation.effects = {{Effect::Kind::place, "", "null", relocation_text(made)}};
    const std::string noted = catalog_.operations().add(std::move(operation));
    auto done = make_relocation(session->store(), made, syncs());
    if (!done) {
      catalog_.operations().forget(noted);
    }
    return done;
  };
  RETURN_IF_ERROR(under_lock(session, make, false));
  catalog_.relocate(session, made.to);
  return made;
}

Result<void> Writer::check_made(const SessionPtr& session, const Relocation& wanted) {
  RETURN_IF_ERROR(check_no_link(session->store(), session->place()));
  if (const auto found = held_by(session)) {
    return Error{Errc::busy, liveness_words(*found) + "; end that program first"};
  }
  return arborfs::check_relocation(session->store(), wanted);
}

Result<Relocation> Writer::check_relocation(const SessionPtr& session, const FolderMove& move) {
  ASSIGN_OR_RETURN(auto wanted, describe_relocation(session, move));
  RETURN_IF_ERROR(check_made(session, wanted));
  return wanted;
}

/// A session that is back already has its old place.
Result<void> Writer::put_back(const std::vector<Relocation>& made) {
  std::vector<std::pair<SessionPtr, Relocation>> back;
  for (auto one = made.rbegin(); one != made.rend(); ++one) {
    Relocation wanted = reversed(*one);
    const auto& stores = catalog_.stores();
    const auto store = std::find_if(stores.begin(), stores.end(),
                                    [&](const auto& each) { return each->paths().sessions == one->sessions; });
    wanted.from.store = wanted.to.store = static_cast<std::uint8_t>(store - stores.begin());
    SessionPtr session = catalog_.at(wanted.from);
    session = session ? session : catalog_.at(wanted.to);
    if (store == stores.end() || !session) {
      return Error{Errc::not_found, "the session " + one->id + " is no longer in " + one->sessions};
    }
    RETURN_IF_ERROR(check_made(session, wanted));
    back.emplace_back(std::move(session), std::move(wanted));
  }
  for (const auto& [session, wanted] : back) {
    RETURN_IF_ERROR(under_lock(
        session,
        [&session = session, &wanted = wanted, this] { return make_relocation(session->store(), wanted, syncs()); },
        false));
    catalog_.relocate(session, wanted.to);
  }
  return {};
}

Result<void> Writer::remove(const SessionPtr& session, bool force) {
  return pass("remove", &Writer::remove, session, force);
}

Result<void> Writer::check_remove(const SessionPtr& session, bool force) {
  if (Writer* const other = writer_of(session)) {
    return other->check_remove(session, force);
  }
  if (!session->format().takes("remove")) {
    return refusal(session, "remove");
  }
  RETURN_IF_ERROR(check_allows_delete());
  RETURN_IF_ERROR(check_writable(session->format()));
  return check_quiet(session, force);
}

Result<AppendResult> Writer::replace(const SessionPtr& session, const Replacement& wanted, bool force) {
  return pass("replace", &Writer::replace, session, wanted, force);
}

Result<std::size_t> Writer::put_back_erased(const SessionPtr& session, bool force) {
  return pass("doctor --repair", &Writer::put_back_erased, session, force);
}

Result<AppendResult> Writer::summarize(const SessionPtr& session, const std::string& text, bool force) {
  return pass("summary", &Writer::summarize, session, text, force);
}

Result<std::string> Writer::checkpoint(const SessionPtr& session, const CheckpointWanted& wanted, bool force) {
  return pass("checkpoint", &Writer::checkpoint, session, wanted, force);
}

Result<std::string> Writer::rewind(const SessionPtr& session, const std::string& checkpoint, bool dry_run, bool force) {
  return pass("rewind", &Writer::rewind, session, checkpoint, dry_run, force);
}

RoomWanted Writer::room_for(const SessionPtr& session, std::string_view verb, std::uint64_t bytes) {
  if (Writer* const other = writer_of_agent(session)) {
    return other->room_for(session, verb, bytes);
  }
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
  ASSIGN_OR_RETURN(auto room, session->store().rooms().take(*folder, wanted.bytes));
  return DiskReservation{std::move(room)};
}

Result<DiskReservation> Writer::reserve(const std::vector<RoomAt>& rooms) {
  DiskReservation reserved;
  for (const RoomAt& room : rooms) {
    RETURN_IF_ERROR(check_files(room.folder, room.wanted.files));
    ASSIGN_OR_RETURN(auto file, (*catalog_.stores().begin())->disk().reserve(room.folder, room.wanted.bytes));
    reserved.push_back(std::make_shared<const DiskRoom>(DiskRoom{std::move(file)}));
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

std::vector<RoomAt> Writer::room_for_checkpoint(const SessionPtr& session, const CheckpointWanted& wanted) {
  Writer* const other = writer_of(session);
  return other == nullptr ? std::vector<RoomAt>() : other->room_for_checkpoint(session, wanted);
}

std::vector<RoomAt> Writer::room_for_rewind(const SessionPtr& session, const std::string& checkpoint) {
  Writer* const other = writer_of(session);
  return other == nullptr ? std::vector<RoomAt>() : other->room_for_rewind(session, checkpoint);
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

void WriterSet::add(const std::vector<std::string_view>& agents, std::unique_ptr<Writer> writer) {
  for (const std::string_view agent : agents) {
    by_agent_.emplace(agent, writer.get());
  }
  writers_.push_back(std::move(writer));
}

std::vector<std::string> WriterSet::agents() const {
  std::vector<std::string> agents;
  for (const auto& [agent, writer] : by_agent_) {
    agents.emplace_back(agent);
  }
  return agents;
}

std::vector<std::string> WriterSet::creating_agents() const {
  std::vector<std::string> agents;
  for (const auto& [agent, writer] : by_agent_) {
    if (writer->creates()) {
      agents.emplace_back(agent);
    }
  }
  return agents;
}

Error WriterSet::with_advice(Error error, const std::string& agent) const {
  const StoreSet& stores = catalog().stores();
  const auto store = stores.first_of(agent);
  const auto problem = store ? problem_of(*stores.at(*store)) : std::nullopt;
  if (!store && (error.code == Errc::read_only || error.code == Errc::not_found)) {
    error.message += "; name its folder with --store " + agent + "=DIR";
  } else if (error.code == Errc::not_found && problem && problem->is_absent) {
    error.message += "; start " + agent + " once, or name its folder with --store " + agent + "=DIR";
  }
  return error;
}

Writer* WriterSet::writer_of_agent(const SessionPtr& session) {
  const auto found = by_agent_.find(session->format().agent);
  return found == by_agent_.end() || !session->format().is_writable() ? nullptr : found->second;
}

void WriterSet::take_back_parts() {
  for (const auto& writer : writers_) {
    writer->take_back_parts();
  }
}

std::vector<RoomAt> WriterSet::room_for_new(const std::string& agent, std::uint64_t bytes, std::uint64_t entries) {
  const std::string wanted = agent.empty() ? first_creating() : agent;
  const auto found = by_agent_.find(wanted);
  return found == by_agent_.end() ? std::vector<RoomAt>() : found->second->room_for_new(wanted, bytes, entries);
}

Result<CreateResult> WriterSet::fork(const SessionPtr& session, const std::string& target, bool force,
                                     const std::optional<std::string>& title) {
  Writer* const writer = writer_of_agent(session);
  return writer == nullptr ? Result<CreateResult>(refusal(session, "fork"))
                           : noted("fork", writer->fork(session, target, force, title));
}

Result<AdoptResult> WriterSet::fork_to(const SessionPtr& session, const ForeignFork& wanted) {
  const auto found = by_agent_.find(wanted.agent);
  if (found == by_agent_.end()) {
    Error refused = Writer::fork_to(session, wanted).error();
    return Error{refused.code,
                 refused.message + ", only to " + join_words(agents()) + did_you_mean(nearest(wanted.agent, agents()))};
  }
  const auto store = catalog().stores().first_of(wanted.agent);
  if (!store) {
    return with_advice({Errc::read_only, "no store of " + wanted.agent + " is open"}, wanted.agent);
  }
  const Store& target = *catalog().stores().at(*store);
  ASSIGN_OR_RETURN(auto conversation, read_conversation(session, wanted.entry, wanted.reach, wanted.edit));
  if (!wanted.title.empty()) {
    conversation.title = wanted.title;
  }
  if (!wanted.cwd.empty() && !wanted.cwd.starts_with('/')) {
    return Error{Errc::invalid_argument, "the working directory must be an absolute path"};
  }
  if (!wanted.cwd.empty() && !target.format().has_cwd) {
    return Error{Errc::invalid_argument,
                 "sessions of " + wanted.agent + " do not record a working directory; leave out 'cwd'"};
  }
  if (!wanted.cwd.empty()) {
    conversation.cwd = wanted.cwd;
  } else if (!conversation.cwd.starts_with('/')) {
    conversation.cwd = catalog().home();
  }
  const bool is_own = session->agent() == wanted.agent && wanted.edit.is_empty();
  auto adopted = is_own ? found->second->adopt_own(session, wanted, conversation)
                        : found->second->adopt(conversation, wanted.agent);
  if (!adopted) {
    return with_advice(adopted.error(), wanted.agent);
  }
  adopted->made = *noted("fork", std::move(adopted->made));
  adopted->left_out = conversation.left_out;
  return adopted;
}

Result<CreateResult> WriterSet::create_for(const NewSession& wanted) {
  const auto found = by_agent_.find(wanted.agent);
  if (found == by_agent_.end() || !found->second->creates()) {
    Error refused = Writer::create(wanted).error();
    return Error{refused.code, refused.message + ", only of " + join_words(creating_agents()) +
                                   did_you_mean(nearest(wanted.agent, creating_agents()))};
  }
  auto made = noted("new", found->second->create(wanted));
  return made ? made : with_advice(made.error(), wanted.agent);
}

Result<CreateResult> WriterSet::noted(std::string_view verb, Result<CreateResult> made) {
  if (made) {
    std::vector<Effect> effects{effect_of_new(made->session->stat())};
    effects.insert(effects.end(), made->beside.begin(), made->beside.end());
    note_effects(*made->session, verb, std::move(effects));
  }
  return made;
}

std::string WriterSet::first_creating() const {
  const StoreSet& stores = catalog().stores();
  const auto creates = [&](const auto& store) {
    return store->format().takes("new") && by_agent_.contains(store->format().agent);
  };
  const auto first = std::find_if(stores.begin(), stores.end(), creates);
  return first == stores.end() ? std::string() : std::string((*first)->format().agent);
}

Result<CreateResult> WriterSet::create(const NewSession& wanted) {
  if (!wanted.agent.empty()) {
    return create_for(wanted);
  }
  if (const std::string first = first_creating(); !first.empty()) {
    return noted("new", by_agent_.at(first)->create(wanted));
  }
  return writers_.empty() ? Writer::create(wanted) : writers_.front()->create(wanted);
}

Result<void> WriterSet::remove(const SessionPtr& session, bool force) {
  note_removed_from(session->store());
  return Writer::remove(session, force);
}

}  // namespace arborfs
