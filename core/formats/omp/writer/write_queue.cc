#include "core/formats/omp/writer/write_queue.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/formats/omp/writer/log_rewrite.h"
#include "core/formats/omp/writer/writable_state.h"
#include "core/session/liveness.h"
#include "core/session/write_marks.h"
#include "core/writer/not_synced.h"

namespace arborfs {

namespace {

Error gone() {
  return {Errc::not_found, "the session is gone"};
}

Error live(const Liveness& liveness, const Session& session) {
  const std::string id = session.standing().id;
  return {Errc::busy, liveness_words(liveness) + "; end that program, write to a fork instead (arborfs fork " +
                          (id.empty() ? session.stem() : id) + "), or force it"};
}

/// The log's folder was moved out of the store, together with the lines just appended.
bool has_left_with_its_folder(const LogWriter& writer, std::string_view appended) {
  const auto now = writer.stat_name();
  return now && now->same_file(writer.stat()) && now->size >= writer.stat().size + appended.size();
}

/// Fails if the log would refuse an append, or the rewrite that an append needs.
Result<void> can_write(LogWriter& writer, bool is_rewrite) {
  auto may = writer.try_append();
  return may && is_rewrite ? writer.try_replace() : may;
}

}  // namespace

/// A command in its queue: lines to append, or work that needs the session to itself.
struct WriteQueue::Waiting {
  AppendRequest* append = nullptr;
  std::function<Result<void>()> work;
  Wanted::Still is_wanted = Wanted::here();
  Waiting* next = nullptr;  // in its queue, then in its group
  Result<void> outcome;
  bool ended = false;            // for the thread that writes its group
  bool done = false;             // guarded by WriteQueue::mutex_
  std::condition_variable wake;  // the command is done, or its turn has come
  void end(Result<void> how) {
    outcome = std::move(how);
    ended = true;
  }
};

void WriteQueue::Chain::push(Waiting& one) {
  one.next = nullptr;
  (first == nullptr ? first : last->next) = &one;
  last = &one;
}

WriteQueue::Waiting* WriteQueue::Chain::pop() {
  return std::exchange(first, first->next);
}

namespace {

Error failed_inside(const std::exception& failure) {
  try {
    return {Errc::io, std::string("internal error in a write: ") + failure.what()};
  } catch (const std::bad_alloc&) {
    return {Errc::io, "out of memory"};  // so short that it needs no allocation
  }
}

template <class Group>
void end_all(const Group& group, const Error& error) {
  for (auto* waiting : group) {
    if (!waiting->ended) {
      waiting->end(error);
    }
  }
}

}  // namespace

WriteQueue::Chain WriteQueue::take_group(SessionQueue& queue) {
  Chain group;
  std::uint64_t bytes = 0;
  for (std::size_t count = 0; queue.waiting.first != nullptr && count < kMaxGroup; ++count) {
    const Waiting& next = *queue.waiting.first;
    bytes += next.append == nullptr ? 0 : next.append->bytes;
    const bool alone = next.append == nullptr || next.append->slot;
    if (count != 0 && (alone || bytes > kMaxGroupBytes)) {
      break;
    }
    group.push(*queue.waiting.pop());
    if (alone) {
      break;
    }
  }
  return group;
}

/// Returns when this command is done: by the thread that works on the queue, or by this thread once the queue is free
/// and the command is first.
Result<void> WriteQueue::wait_turn(const SessionPtr& session, Waiting& mine) {
  const std::uint64_t bytes = mine.append == nullptr ? 0 : mine.append->bytes;
  const Session::Use use(session);
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return waiting_bytes_ == 0 || waiting_bytes_ + bytes <= kMaxWaitingBytes; });
  SessionQueue& queue = queues_[session->number()];
  waiting_bytes_ += bytes;
  queue.waiting.push(mine);
  mine.wake.wait(lock, [&] { return mine.done || (!queue.busy && queue.waiting.first == &mine); });
  if (!mine.done) {
    work_off(session, queue, lock);
  }
  waiting_bytes_ -= bytes;
  room_.notify_all();
  return mine.outcome;
}

/// Does the next group of a queue that no thread is working on.
void WriteQueue::work_off(const SessionPtr& session, SessionQueue& queue, std::unique_lock<std::mutex>& lock) {
  queue.busy = true;
  Chain group = take_group(queue);
  lock.unlock();
  commit(session, group);
  lock.lock();
  queue.busy = false;
  while (group.first != nullptr) {
    Waiting* const waiting = group.pop();
    waiting->done = true;
    waiting->wake.notify_one();
  }
  if (queue.waiting.first != nullptr) {
    queue.waiting.first->wake.notify_one();
  }
}

Result<void> WriteQueue::wait_turn(const SessionPtr& session, std::function<Result<void>()> work) {
  Waiting mine;
  mine.work = std::move(work);
  return wait_turn(session, mine);
}

Result<void> WriteQueue::append(const SessionPtr& session, AppendRequest request) {
  Waiting mine;
  mine.append = &request;
  return wait_turn(session, mine);
}

/// Gives every command in the group an outcome even after an exception, so that the queue continues.
void WriteQueue::commit(const SessionPtr& session, const Chain& group) {
  try {
    commit_group(session, group);
  } catch (const std::exception& failure) {
    for (Waiting* waiting = group.first; waiting != nullptr; waiting = waiting->next) {
      if (!waiting->ended) {
        waiting->end(failed_inside(failure));
      }
    }
  }
}

void WriteQueue::commit_group(const SessionPtr& session, const Chain& group) {
  if (group.first->work) {
    group.first->end(group.first->work());
    return;
  }
  for (int attempt = 1;; ++attempt) {
    std::vector<Waiting*> left;
    for (Waiting* one = group.first; one != nullptr; one = one->next) {
      if (!one->ended) {
        left.push_back(one);
      }
    }
    if (left.empty()) {
      return;
    }
    auto written = write_group(session, left);
    if (written) {
      return;
    }
    const bool changed_under_us = written.error().code == Errc::stale && attempt < kTries;
    const bool too_much_together = written.error().code == Errc::no_space && left.size() > 1;
    if (too_much_together) {
      for (Waiting* waiting : left) {
        if (auto alone = write_group(session, {waiting}); !alone) {
          waiting->end(alone.error());
        }
      }
      return;
    }
    if (!changed_under_us) {
      end_all(left, written.error());
      return;
    }
  }
}

/// Null if agents do not matter. Otherwise the agents that run right before the write; one look serves a group.
std::shared_ptr<const AgentLook> WriteQueue::look_ahead(const Session& session, LivePolicy policy) const {
  if (policy == LivePolicy::on_live || settings_.write_live) {
    return nullptr;
  }
  auto look = recent_look(session.store());
  agents_run_ = !look->is_empty();
  return look;
}

std::shared_ptr<const AgentLook> WriteQueue::recent_look(const SessionStore& store) const {
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

Result<void> WriteQueue::refuse_live(const SessionPtr& session, const LogWriter& writer, const AgentLook* look,
                                     LivePolicy policy) const {
  if (look == nullptr) {
    return {};
  }
  const auto judge = [&](const AgentLook& agents) -> Result<void> {
    Liveness found = check_traces(*session, writer.stat(), catalog_, agents);
    if (writer.is_open_elsewhere()) {
      found.state = Liveness::State::live;
      found.reasons.insert(found.reasons.begin(), "another process has the log open for writing");
    }
    const bool may = found.state == Liveness::State::quiet ||
                     (found.state == Liveness::State::maybe && policy == LivePolicy::on_maybe_live);
    return may ? Result<void>() : Result<void>(live(found, *session));
  };
  auto may = judge(*look);
  return may ? may : judge(*AgentLook::now(session->store()));  // it may have ended since the scan
}

/// Takes the log's lock and refreshes the session under it. A long read is done before the lock.
Result<std::unique_ptr<LogWriter>> WriteQueue::lock(const SessionPtr& session, LivePolicy policy) {
  const auto look = look_ahead(*session, policy);
  const auto open = [&]() -> Result<std::unique_ptr<LogWriter>> {
    auto writer = session->store().writer(session->place());
    return !writer && writer.error().code == Errc::not_found ? gone() : std::move(writer);
  };
  auto writer = open();
  if (writer && !session->is_quick(Depth::index, (*writer)->stat())) {
    writer->reset();
    static_cast<void>(session->refresh(Depth::index));
    writer = open();
  }
  if (!writer) {
    return writer;
  }
  RETURN_IF_ERROR(refuse_live(session, **writer, look.get(), policy));
  if (take_back_part(session, **writer)) {
    writer = open();
    if (!writer) {
      return writer;
    }
  }
  RETURN_IF_ERROR(session->refresh(Depth::index, [&] { return (*writer)->stat_name(); }));
  session->reload_leaf();  // another daemon may have moved it
  return writer;
}

/// First checks the log itself without its lock, because a lock file would show in the folder. The rest goes through
/// the queue, so that a write of this process that waits for the disk is not taken for another process's lock.
Result<void> WriteQueue::check(const SessionPtr& session, bool force) {
  if (const auto known = writable_state_of(session); !known) {
    return known.error().code == Errc::not_found ? gone() : known.error();
  }
  AppendRequest question;
  question.force = force;
  return append(session, std::move(question));
}

/// Marks a write as this process's own, so that a running agent is not taken for the writer.
void WriteQueue::note_own_write(const SessionPtr& session, const FileStat& before, const Result<FileStat>& after) {
  if (after) {
    catalog_.state_of(*session).marks.note_written(session->place().file, before, *after, agents_run_);
  }
}

/// Releases the lock, syncs, and refreshes the session, which must then have the last of `lines`. Its errors are never
/// `stale` or `no_space`, which would make the caller write the lines again.
Result<void> WriteQueue::settle(const SessionPtr& session, LogWriter& writer, const Lines& lines) {
  const auto after = writer.stat_name();
  writer.release();
  note_own_write(session, writer.stat(), after);
  auto synced = settings_.sync ? writer.sync() : Result<void>();
  auto read = session->refresh(Depth::index, [&] { return writer.stat_name(); });
  session->note_own_write();
  if (!synced) {
    return written_but_not_synced(synced.error());
  }
  const bool has_left = !read && read.error().code == Errc::not_found && has_left_with_its_folder(writer, lines.text);
  if (!read && !has_left) {
    return Error{Errc::io, "it was written, but the log cannot be read back: " + read.error().message};
  }
  if (lines.text.empty()) {
    return {};
  }
  if (const auto guard = session->read(); !has_left && (!guard || guard->index().find(lines.last) == kNoEntry)) {
    return Error{Errc::io, "another program rewrote the log at the same moment, and the append is not in it"};
  }
  catalog_.state_of(*session).erased.acknowledge(session->place().file,
                                                 std::string_view(lines.text).substr(lines.lead));
  return {};
}

/// Writes a group under one lock. An error is the outcome of all its commands that have not ended yet.
Result<void> WriteQueue::write_group(const SessionPtr& session, const std::vector<Waiting*>& group) {
  const bool all_forced =
      std::all_of(group.begin(), group.end(), [](const Waiting* one) { return one->append->force; });
  const auto look = look_ahead(*session, live_policy(all_forced));
  ASSIGN_OR_RETURN(auto writer, lock(session, LivePolicy::on_live));
  const auto quiet = refuse_live(session, *writer, look.get(), live_policy(all_forced));
  for (Waiting* waiting : group) {
    if (waiting->append->plan && !waiting->is_wanted()) {
      waiting->end(nobody_waits());
    }
  }
  Lines lines;
  bool had_moved_leaf = false;
  std::vector<Waiting*> planned;
  {
    const auto guard = session->read();
    RETURN_IF_ERROR(guard ? check_writable(*guard) : Result<void>(gone()));
    const bool is_current = guard->stat().same_file(writer->stat()) && guard->stat().size == writer->stat().size;
    const auto only_asks = [](const Waiting* one) { return !one->append->plan; };
    if (!is_current && !std::all_of(group.begin(), group.end(), only_asks)) {
      return log_changed();
    }
    had_moved_leaf = guard->leaf() != guard->index().leaf();
    AppendBatch batch(guard->index(), guard->leaf(), now_ms());
    for (Waiting* waiting : group) {
      if (waiting->ended) {
        continue;
      }
      const AppendRequest& wanted = *waiting->append;
      const auto mark = batch.mark();
      auto made = wanted.force ? Result<void>() : quiet;
      made = made ? (wanted.plan ? wanted.plan(batch) : can_write(*writer, guard->index().header().migrated)) : made;
      if (made && wanted.plan) {
        planned.push_back(waiting);
      } else {
        batch.take_back(mark);
        waiting->end(std::move(made));
      }
    }
    lines = {batch.take_lines(), batch.leaf(), 0, {}, guard->log(), guard->index().header().migrated,
             guard->stat().size};
  }
  if (planned.empty()) {
    return {};
  }
  const bool any_forced =
      std::any_of(planned.begin(), planned.end(), [](const Waiting* one) { return one->append->force; });
  lines.slot = planned.back()->append->slot.value_or("");
  auto written = put_lines(session, std::move(writer), lines, live_policy(any_forced));
  if (written && had_moved_leaf) {
    catalog_.state_of(*session).leaves.forget(session->place().file);
  }
  return written;
}

}  // namespace arborfs
