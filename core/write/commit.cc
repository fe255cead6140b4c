#include "core/write/commit.h"

#include <algorithm>
#include <exception>
#include <new>
#include <thread>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/session/liveness.h"

namespace arborfs {

/// A command in its queue.
struct Committer::Waiting {
  Command command;
  Waiting* next = nullptr;  // in its queue, then in its group
  Result<void> outcome;
  bool has_ended = false;        // for the thread that works on its group
  bool is_done = false;          // guarded by Committer::mutex_
  std::condition_variable wake;  // the command is done, or its turn has come
  void end(Result<void> how) {
    outcome = std::move(how);
    has_ended = true;
  }
};

namespace {

bool may_write(Liveness::State agents, LivePolicy policy) {
  return agents == Liveness::State::quiet || policy == LivePolicy::on_live ||
         (agents == Liveness::State::maybe && policy == LivePolicy::on_maybe_live);
}

/// The log's folder was moved out of the store, together with the lines just appended.
bool has_left_with_its_folder(const LogWriter& writer, std::string_view appended) {
  const auto now = writer.stat_name();
  return now && now->same_file(writer.stat()) && now->size >= writer.stat().size + appended.size();
}

/// Reads the session after a write of its own.
Result<void> refresh_written(Session& session, Depth depth) {
  session.forget_look();
  auto done = session.refresh(depth);
  session.note_own_write();
  return done;
}

Error cannot_be_read_back(const Error& why) {
  return {Errc::io, "it was written, but the session cannot be read back: " + why.message};
}

Error failed_inside(const std::exception& failure) {
  try {
    return {Errc::io, std::string("internal error in a write: ") + failure.what()};
  } catch (const std::bad_alloc&) {
    return {Errc::io, "out of memory"};  // so short that it needs no allocation
  }
}

/// Not the same for two that compete.
void pause_briefly() {
  constexpr unsigned kMostPauses = 8;
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  std::this_thread::sleep_for(std::chrono::milliseconds(1 + now / 1000 % kMostPauses));
}

}  // namespace

void Committer::Chain::push(Waiting& one) {
  one.next = nullptr;
  (first == nullptr ? first : last->next) = &one;
  last = &one;
}

Committer::Waiting* Committer::Chain::pop() {
  return std::exchange(first, first->next);
}

Committer::Chain Committer::take_group(Queue& queue) {
  Chain group;
  std::uint64_t bytes = 0;
  for (std::size_t count = 0; queue.waiting.first != nullptr && count < kMaxGroup; ++count) {
    const Waiting& next = *queue.waiting.first;
    bytes += next.command.bytes;
    const bool is_alone = next.command.work || next.command.is_alone;
    if (count != 0 && (is_alone || bytes > kMaxGroupBytes)) {
      break;
    }
    group.push(*queue.waiting.pop());
    if (is_alone) {
      break;
    }
  }
  return group;
}

/// Returns when this command is done: by the thread that works on the queue, or by this thread once the queue is free
/// and the command is first.
Result<void> Committer::wait_turn(const SessionPtr& session, Waiting& mine) {
  const Session::Use use(session);
  std::unique_lock lock(mutex_);
  const auto place = queues_.try_emplace(session->number()).first;
  Queue& queue = place->second;
  queue.waiting.push(mine);
  mine.wake.wait(lock, [&] { return mine.is_done || (!queue.is_busy && queue.waiting.first == &mine); });
  if (mine.is_done) {
    return mine.outcome;
  }
  queue.is_busy = true;
  Chain group = take_group(queue);
  lock.unlock();
  run(session, group);
  lock.lock();
  queue.is_busy = false;
  while (group.first != nullptr) {
    Waiting* const done = group.pop();
    done->is_done = true;
    done->wake.notify_one();
  }
  if (queue.waiting.first != nullptr) {
    queue.waiting.first->wake.notify_one();
  } else {
    queues_.erase(place);
  }
  return mine.outcome;
}

Result<void> Committer::make(const SessionPtr& session, Command command) {
  Waiting mine;
  mine.command = std::move(command);
  return wait_turn(session, mine);
}

/// Gives every command in the group an outcome even after an exception, so that the queue continues.
void Committer::run(const SessionPtr& session, const Chain& group) {
  try {
    run_group(session, group);
  } catch (const std::exception& failure) {
    for (Waiting* one = group.first; one != nullptr; one = one->next) {
      if (!one->has_ended) {
        one->end(failed_inside(failure));
      }
    }
  }
}

/// Begins anew if other programs wrote meanwhile. A log that has just changed may have no header for a moment.
void Committer::run_group(const SessionPtr& session, const Chain& group) {
  const auto until = std::chrono::steady_clock::now() + settings_.patience;
  bool has_met = false;
  for (int tries = 1;; ++tries) {
    std::vector<Waiting*> left;
    for (Waiting* one = group.first; one != nullptr; one = one->next) {
      if (!one->has_ended) {
        left.push_back(one);
      }
    }
    auto done = attempt(session, left);
    std::erase_if(left, [](const Waiting* one) { return one->has_ended; });
    const bool is_full = !done && done.error().code == Errc::no_space;
    if (is_full && session->store().rooms().free()) {
      continue;
    }
    if (is_full && left.size() > 1) {
      for (Waiting* one : left) {
        auto alone = attempt(session, {one});
        one->end(one->has_ended ? one->outcome : std::move(alone));
      }
      return;
    }
    has_met = has_met || (!done && done.error().code == Errc::stale);
    const bool is_met = !done && has_met && (done.error().code == Errc::stale || done.error().code == Errc::read_only);
    if (!is_met || left.empty() || (tries >= settings_.tries && std::chrono::steady_clock::now() >= until)) {
      for (Waiting* one : left) {
        one->end(done);
      }
      return;
    }
    if (settings_.patience.count() != 0) {
      pause_briefly();
    }
  }
}

/// Makes the changes of a group. An error is the outcome of those that have not ended yet.
Result<void> Committer::attempt(const SessionPtr& session, const std::vector<Waiting*>& group) {
  const Command& first = group.front()->command;
  const bool is_read = session->is_known_since(std::chrono::steady_clock::now() - kLookServes, Depth::index) ||
                       (session->has(Depth::index) && session->is_quick(Depth::index));
  if (first.work || first.mends) {
    RETURN_IF_ERROR(is_read ? Result<void>() : session->refresh(Depth::index));
  } else if (!is_read || !check_log(session, true)) {
    RETURN_IF_ERROR(check_log(session, false));  // a long read is done before the lock; a refusal makes no lock file
  }
  const auto by_policy = [](const Waiting* a, const Waiting* b) { return a->command.policy < b->command.policy; };
  const auto [lowest, highest] = std::minmax_element(group.begin(), group.end(), by_policy);
  ASSIGN_OR_RETURN(auto held, hold(session, (*lowest)->command.policy, (*highest)->command.policy));
  if (first.work) {
    return first.work(held);
  }
  ASSIGN_OR_RETURN(const auto planned, plan(session, held, group));
  if (planned == nullptr || (planned->lines.empty() && !planned->rewrite)) {
    return {};
  }
  const FileStat before = session->stat();
  RETURN_IF_ERROR(write(session, held, *planned));
  auto done = finish(session, held, before, *planned);
  note_operation(session, group, *planned);
  return done;
}

/// As the log was read last, or as it is now.
Result<void> Committer::check_log(const SessionPtr& session, bool as_read) const {
  RETURN_IF_ERROR(as_read ? Result<void>() : session->refresh(Depth::index));
  ASSIGN_OR_RETURN(const auto guard, session->read_index());
  return editor_.check(guard);
}

Result<void> Committer::check(const SessionPtr& session, LivePolicy policy) const {
  RETURN_IF_ERROR(check_writable(session->format()));
  RETURN_IF_ERROR(check_log(session, false));
  RETURN_IF_ERROR(editor_.probe(session));
  Held held;
  if (policy != LivePolicy::on_live && !settings_.write_live) {
    held.look = recent_look(session->store());  // which the write that follows may share
    look_for_agents(session, held);
  }
  return may_write(held.agents, policy) ? Result<void>() : held.quiet;
}

std::shared_ptr<const AgentLook> Committer::recent_look(const Store& store) const {
  const auto now = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(look_mutex_);
    if (look_.store == &store && now - look_.time < kLookServes) {
      return look_.look;
    }
  }
  std::shared_ptr<const AgentLook> look = AgentLook::now(store);
  const std::lock_guard lock(look_mutex_);
  look_ = {&store, now, look};
  return look;
}

bool Committer::is_surely_quiet(const Session& session, const LogWriter& writer, const AgentLook& look) const {
  return check_under_lock(session, writer, catalog_, look).state == Liveness::State::quiet;
}

/// Without the lock: programs may wait for it, and it may take a while to tell that one has the log open for just one
/// write.
void Committer::look_for_agents(const SessionPtr& session, Held& held) const {
  Liveness found;
  if (held.look) {
    found = check_liveness(*session, catalog_, *held.look);
  }
  if (!held.look || found.state != Liveness::State::quiet) {  // an agent may have ended since that look
    found = check_liveness(*session, catalog_, *AgentLook::now(session->store()));
  }
  held.agents = found.state;
  if (found.state != Liveness::State::quiet) {
    held.quiet = session_is_live(found, editor_.instead(*session));
  }
}

/// Takes the lock, and refreshes the session under it. Signs of an agent that are seen under it may pass within one
/// write, for which it is released.
Result<Held> Committer::hold(const SessionPtr& session, LivePolicy lowest, LivePolicy highest) {
  Held held;
  held.policy = highest;
  const bool asks = lowest != LivePolicy::on_live && !settings_.write_live;
  held.look = asks ? recent_look(session->store()) : nullptr;
  ASSIGN_OR_RETURN(held.writer, editor_.lock(session, Editor::Wait::no));
  if (held.writer == nullptr || (asks && !is_surely_quiet(*session, *held.writer, *held.look))) {
    held.writer.reset();
    if (asks) {
      look_for_agents(session, held);
      RETURN_IF_ERROR(may_write(held.agents, highest) ? Result<void>() : held.quiet);
    }
    const auto asked = std::chrono::steady_clock::now();
    ASSIGN_OR_RETURN(held.writer, editor_.lock(session, Editor::Wait::yes));
    if (asks && held.writer && std::chrono::steady_clock::now() - asked > kLookServes) {  // an agent may have started
      const auto now = AgentLook::now(session->store());
      const Liveness found = check_under_lock(*session, *held.writer, catalog_, *now);
      if (found.state > held.agents) {
        held.agents = found.state;
        held.quiet = session_is_live(found, editor_.instead(*session));
      }
      RETURN_IF_ERROR(may_write(held.agents, highest) ? Result<void>() : held.quiet);
    }
  }
  if (take_back_part(session, held)) {
    held.writer.reset();
    ASSIGN_OR_RETURN(held.writer, editor_.lock(session, Editor::Wait::yes));
  }
  session->forget_look();
  const LogPlace place = session->place();
  const Dir* const folder = held.writer ? held.writer->folder_of(place.file) : nullptr;
  RETURN_IF_ERROR(session->refresh(Depth::index, [&] { return session->store().stat(place, folder); }));
  return held;
}

/// Cuts off the partial append of a killed process before anything is written after it, but not while an agent may have
/// read it. True if the log must be locked again.
bool Committer::take_back_part(const SessionPtr& session, Held& held) {
  PendingAppends& pending = catalog_.state_of(*session).pending;
  const std::string file = editor_.appended_file(session->place());
  if (held.writer == nullptr || !pending.has(file)) {
    return false;
  }
  const bool is_quiet =
      settings_.write_live || (held.look ? held.agents == Liveness::State::quiet
                                         : is_surely_quiet(*session, *held.writer, *AgentLook::now(session->store())));
  if (!is_quiet || !pending.take_back(*held.writer, file)) {
    return false;
  }
  held.writer->release();
  if (const auto synced = settings_.sync ? held.writer->sync() : Result<void>(); !synced) {
    write_log(LogLevel::warning, file + ": " + synced.error().message);
  }
  return true;
}

void Committer::take_back_parts(std::string_view agent) {
  for (std::size_t number = 0; number < catalog_.stores().size(); ++number) {
    if (catalog_.stores().at(number)->format().agent == agent) {
      take_back_parts_in(static_cast<std::uint8_t>(number));
    }
  }
}

void Committer::take_back_parts_in(std::uint8_t store) {
  PendingAppends& pending = catalog_.state(store).pending;
  for (const LogPlace& noted : pending.all()) {
    auto place = editor_.place_of(noted);
    if (!place) {
      continue;
    }
    place->store = store;
    catalog_.touch(*place);
    const auto session = catalog_.at(*place);
    Command nothing;
    nothing.work = [](Held&) { return Result<void>(); };
    const auto done = session ? make(session, std::move(nothing)) : Result<void>(Errc::not_found, "the log is gone");
    if (!done && done.error().code == Errc::not_found) {
      pending.forget(noted.file);
    } else if (!done) {
      write_log(LogLevel::warning, noted.file + " may end with a partial append: " + done.error().message);
    } else {
      catalog_.touch(*place);
    }
  }
}

/// Null if all commands are refused, which ends them.
Result<std::unique_ptr<Plan>> Committer::plan(const SessionPtr& session, Held& held,
                                              const std::vector<Waiting*>& group) {
  for (Waiting* one : group) {
    if (!one->command.is_wanted()) {
      one->end(nobody_waits());
    }
  }
  ASSIGN_OR_RETURN(auto plan, editor_.begin(session));
  bool is_empty = true;
  held.policy = LivePolicy::on_quiet;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    RETURN_IF_ERROR(group.front()->command.mends ? Result<void>() : editor_.check(guard));
    RETURN_IF_ERROR(plan->start(guard));
    for (Waiting* one : group) {
      if (one->has_ended) {
        continue;
      }
      auto made = may_write(held.agents, one->command.policy) ? one->command.change(*plan) : held.quiet;
      if (made) {
        is_empty = false;
        held.policy = std::max(held.policy, one->command.policy);
      } else {
        one->end(std::move(made));
      }
    }
  }
  if (is_empty) {
    return std::unique_ptr<Plan>();
  }
  RETURN_IF_ERROR(editor_.complete(session, held, *plan));
  return plan;
}

Result<void> Committer::write(const SessionPtr& session, Held& held, Plan& plan) {
  return plan.rewrite ? plan.rewrite(held) : append(session, *held.writer, plan);
}

Result<void> Committer::append(const SessionPtr& session, LogWriter& writer, Plan& plan) {
  if (!plan.at_begin.empty()) {
    RETURN_IF_ERROR(writer.try_replace());  // where only appends are possible, the lines could not be taken back
  }
  LogPlace place = session->place();
  place.file = editor_.appended_file(place);
  plan.lines.insert(0, plan.lead);
  const auto note = catalog_.state_of(*session).pending.note(place, writer.stat(), plan.lines);
  ASSIGN_OR_RETURN(auto begin, writer.log().read(0, plan.at_begin.size()));
  RETURN_IF_ERROR(writer.append(plan.lines));
  auto overwritten = plan.at_begin.empty() ? Result<void>() : writer.overwrite(0, plan.at_begin);
  if (overwritten) {
    FileChange appended = appended_to(path_of(writer.log().fd()), writer.stat(), plan.lines);
    if (!plan.at_begin.empty()) {
      appended.runs.insert(appended.runs.begin(), {0, plan.at_begin.size(), xxh64(plan.at_begin), std::move(begin)});
    }
    if (!appended.path.empty()) {
      plan.effects.insert(plan.effects.begin(), effect_of(appended));
    }
    return {};
  }
  auto undone = writer.undo_append();
  return undone ? overwritten : undone;
}

/// Releases the lock. Without the mark, a running program would be taken for the writer of the log.
void Committer::note_written(const SessionPtr& session, const Held& held, const FileStat& before) const {
  const LogPlace place = session->place();
  const bool is_marked = reads_write_marks(session->store().format());
  const auto after = !is_marked    ? Result<FileStat>(Errc::not_found, "no mark")
                     : held.writer ? held.writer->stat_name()
                                   : session->store().stat(place);
  if (held.writer) {
    held.writer->release();
  }
  if (after) {
    catalog_.state_of(*session).marks.note_written(place.file, held.writer ? held.writer->stat() : before, *after);
  }
}

/// Commands that were written together are one operation.
void Committer::note_operation(const SessionPtr& session, const std::vector<Waiting*>& group, Plan& plan) const {
  if (plan.effects.empty() && plan.cannot_undo.empty()) {
    return;
  }
  std::string verbs;
  for (const Waiting* one : group) {
    const std::string_view verb = one->has_ended ? std::string_view() : one->command.verb;
    if (!verb.empty() && verbs.find(verb) == std::string::npos) {
      verbs.append(verbs.empty() ? "" : ", ").append(verb);
    }
  }
  Operation operation = operation_on(*session, verbs);
  operation.effects = std::move(plan.effects);
  operation.cannot = std::move(plan.cannot_undo);
  catalog_.operations().add(std::move(operation));
}

Result<void> Committer::work(const SessionPtr& session, const std::function<Result<void>()>& work, LivePolicy policy) {
  Command command;
  command.policy = policy;
  command.work = [&](Held& held) -> Result<void> {
    const FileStat before = session->stat();
    auto done = work();
    note_written(session, held, before);
    const auto read = refresh_written(*session, Depth::index);
    const bool is_shown = read || read.error().code == Errc::not_found;
    return !done || is_shown ? done : cannot_be_read_back(read.error());
  };
  return make(session, std::move(command));
}

/// Releases the lock, syncs, and shows the change. Its errors are never `stale` or `no_space`, which would make the
/// caller write the same again.
Result<void> Committer::finish(const SessionPtr& session, Held& held, const FileStat& before, const Plan& plan) {
  note_written(session, held, before);
  auto synced = Result<void>();
  if (settings_.sync) {
    synced = held.writer ? held.writer->sync() : editor_.sync(*session);
  }
  auto shown = show(session, held, plan, synced);
  const auto ended = plan.last_step ? plan.last_step() : Result<void>();
  return shown ? ended : shown;
}

Result<void> Committer::show(const SessionPtr& session, const Held& held, const Plan& plan,
                             const Result<void>& synced) {
  const auto read = refresh_written(*session, Depth::index);
  if (!synced) {
    return written_but_not_synced(synced.error());
  }
  const bool has_left = !read && read.error().code == Errc::not_found && held.writer && !plan.lines.empty() &&
                        has_left_with_its_folder(*held.writer, plan.lines);
  if (!read && !has_left) {
    return cannot_be_read_back(read.error());
  }
  if (!has_left && plan.last.kind != EntryId::Kind::missing) {
    const auto guard = session->read();
    if (!guard || guard->index().find(plan.last) == kNoEntry) {
      return Error{Errc::io, "another program rewrote the log at the same moment, and the append is not in it"};
    }
  }
  if (plan.protects && !plan.lines.empty()) {
    catalog_.state_of(*session).erased.acknowledge(session->place().file,
                                                   std::string_view(plan.lines).substr(plan.lead.size()));
  }
  editor_.committed(session, plan);
  return {};
}

Error session_is_live(const Liveness& found, const std::string& instead) {
  return {Errc::busy, liveness_words(found) + "; end that program" + instead + ", or force it"};
}

Result<void> read_back(Session& session, Depth depth) {
  const auto done = refresh_written(session, depth);
  return done ? done : cannot_be_read_back(done.error());
}

}  // namespace arborfs
